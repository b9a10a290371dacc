import {
  type BatchItem,
  batchOf,
  bikeReport,
  bikeUpsert,
  rideCancel,
  rideEnd,
  rideStart,
  stationCommand,
  stationUpsert,
} from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import fc from "fast-check";
import type { z } from "zod";
import { describe, removeDescription } from "../../src/city/descriptions/service.ts";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../../src/city/fleet/finish-rides.ts";
import { cancelReservation } from "../../src/city/fleet/reservation-commands.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import {
  bringStationsOnline,
  removeStations,
  takeStationsOffline,
  upsertStations,
} from "../../src/city/fleet/station-commands.ts";
import { importSnapshot } from "../../src/feeds/gbfs/import.ts";
import { FeedFailure } from "../../src/feeds/gbfs/problems.ts";
import { sourceOf } from "../gbfs/city.ts";
import { factSteps } from "./every-fact-steps.ts";
import {
  bikeId,
  bikeItem,
  nasty,
  optional,
  reportItem,
  rideId,
  snapshot,
  stationId,
  stationItem,
  typeId,
  typeWords,
} from "./every-state-values.ts";
import type { GbfsOutHarness } from "./gbfs-out.harness.ts";
import type { Step, StepSubject } from "./step.ts";

const step = <Input>(
  does: string,
  input: fc.Arbitrary<Input>,
  run: (input: Input) => Promise<unknown>,
): fc.Arbitrary<Step> => input.map((given) => ({ does: `${does} ${fc.stringify(given)}`, run: () => run(given) }));

type Verb<Item> = (
  context: GbfsOutHarness["live"],
  systemId: string,
  items: readonly BatchItem<Item>[],
) => Promise<unknown>;
/** Sends an item like a request: parses it by the contract first, which may refuse it. */
const batch =
  (subject: StepSubject) =>
  <Schema extends z.ZodTypeAny>(schema: Schema, verb: Verb<z.output<Schema>>, item: unknown) => {
    const body = batchOf(schema, "Items").parse({ items: [JSON.parse(JSON.stringify(item)) as unknown] });
    return verb(subject.harness.live, subject.systemId, body.items);
  };
/** Ignores the error if the service refuses a step. */
async function refusable(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ServiceError) && !(error instanceof FeedFailure)) throw error;
  });
}

/** Creates the initial data: a station with two bikes. */
export async function beginWith(subject: StepSubject): Promise<void> {
  const send = batch(subject);
  await send(stationUpsert, upsertStations, { id: "s1", name: "S", lat: 1, lon: 1 });
  for (const id of ["b1", "b2"]) await send(bikeUpsert, upsertBikes, { id, station_id: "s1" });
}

/** Draws steps of the operator's backend. */
function operatorSteps(subject: StepSubject): fc.Arbitrary<Step> {
  const send = batch(subject);
  const now = (ago: number) => new Date(subject.harness.clock() - ago).toISOString();
  return fc.oneof(
    step("upsert station", stationItem, (item) => send(stationUpsert, upsertStations, item)),
    step("station offline", stationId, (id) => send(stationCommand, takeStationsOffline, { id })),
    step("station online", stationId, (id) => send(stationCommand, bringStationsOnline, { id })),
    step("remove station", fc.constantFrom("s1", "ø4"), (id) => send(stationCommand, removeStations, { id })),
    {
      weight: 3,
      arbitrary: step("upsert bike", bikeItem, ([item, where]) => send(bikeUpsert, upsertBikes, { ...item, ...where })),
    },
    step("report bike", reportItem, ([{ ago, ...item }, where]) =>
      send(bikeReport, reportBikes, { ...item, ...where, at: now(ago) }),
    ),
    {
      weight: 3,
      arbitrary: step("start ride", fc.record({ id: rideId, bike_id: bikeId }), (item) =>
        send(rideStart, startRides, item),
      ),
    },
    {
      weight: 2,
      arbitrary: step("end ride", fc.tuple(rideId, fc.option(stationId)), ([id, end_station_id]) =>
        send(rideEnd, endRides, { id, end_station_id }),
      ),
    },
    step("cancel ride", rideId, (id) => send(rideCancel, cancelRides, { id })),
  );
}

const actingOn = ({ harness }: StepSubject) => ({ ...harness.live, actor: "test" });

/** Draws steps of partners, feeds, the operator's people, and the passing of time. */
function otherSteps(subject: StepSubject): fc.Arbitrary<Step> {
  const owner = () => ({ systemId: subject.systemId, partnerId: "p" });
  return fc.oneof(
    step("reserve", bikeId, (bike_id) =>
      refusable(createReservation(subject.harness.live, { ...owner(), request: { bike_id } })),
    ),
    step("cancel reservation", fc.nat(30), (n) =>
      refusable(cancelReservation(subject.harness.live, owner(), `res_${n}`)),
    ),
    {
      weight: 3,
      arbitrary: step("import", snapshot, (documents) =>
        refusable(
          importSnapshot(
            subject.harness.live.db,
            { systemId: subject.systemId, source: "feed", now: subject.harness.clock(), ids: subject.harness.live.ids },
            sourceOf(documents),
          ),
        ),
      ),
    },
    step(
      "describe",
      fc.record({
        name: optional(nasty),
        language: optional(fc.constantFrom("da", "x", "EN-gb", "zh-Hant-TW")),
        timezone: optional(fc.constantFrom("Asia/Tokyo", "x")),
        feed_contact_email: optional(fc.emailAddress()),
        opening_hours: optional(nasty),
        operator: optional(nasty),
        url: optional(fc.oneof(nasty, fc.webUrl({ withQueryParameters: true, withFragments: true }))),
        licence: optional(fc.oneof(fc.constantFrom("cc-by-4.0", "ODbL-1.0", "X"), fc.webUrl())),
      }),
      (facts) => refusable(describe(actingOn(subject), subject.systemId, "system", "", facts)),
    ),
    step("describe vehicle type", typeWords, ({ id, ...words }) =>
      refusable(describe(actingOn(subject), subject.systemId, "vehicle_type", id, words)),
    ),
    step("forget vehicle type", typeId, (id) =>
      refusable(removeDescription(actingOn(subject), subject.systemId, "vehicle_type", id)),
    ),
    step("name region", fc.constantFrom("north", "west"), (id) =>
      describe(actingOn(subject), subject.systemId, "region", id, { name: `The ${id}` }),
    ),
    step("forget region", fc.constantFrom("north", "west"), (id) =>
      refusable(removeDescription(actingOn(subject), subject.systemId, "region", id)),
    ),
    step("wait", fc.integer({ min: 0, max: 1_000_000 }), (ms) => Promise.resolve(subject.harness.clock.advance(ms))),
  );
}

/** Draws any step that changes a system. */
export function stepsOn(subject: StepSubject): fc.Arbitrary<Step> {
  return fc.oneof(
    { weight: 13, arbitrary: operatorSteps(subject) },
    { weight: 7, arbitrary: otherSteps(subject) },
    { weight: 7, arbitrary: factSteps(subject) },
  );
}
