import { type BatchResults, operatorContract } from "@bikeshare/contract";
import { createTestClock, createTestIds, type TestClock } from "@bikeshare/test-kit";
import { expect } from "vitest";
import { endAlerts, upsertAlerts } from "../../src/city/alerts/service.ts";
import { reportBikes, upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { createReservation } from "../../src/city/fleet/create-reservation.ts";
import { cancelRides, endRides } from "../../src/city/fleet/finish-rides.ts";
import { correctRides, upsertPastRides } from "../../src/city/fleet/past-rides.ts";
import { cancelReservation } from "../../src/city/fleet/reservation-commands.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import {
  bringStationsOnline,
  removeStations,
  takeStationsOffline,
  upsertStations,
} from "../../src/city/fleet/station-commands.ts";
import type { CommandContext } from "../../src/command-context.ts";
import { checkInvariants } from "../../src/health/check/service.ts";
import type { Ids } from "../../src/ids.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { addPartners } from "../partners.ts";

type Row = Readonly<Record<string, unknown>>;
export type Item = Readonly<Record<string, unknown>> & { readonly id?: unknown };

/** A system without HTTP. Each function takes the items of a batch as a client would send them. */
export interface FleetHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly live: CommandContext;
  readonly stations: Verb;
  readonly offline: Verb;
  readonly online: Verb;
  readonly remove: Verb;
  readonly bikes: Verb;
  readonly report: Verb;
  readonly past: Verb;
  readonly start: Verb;
  readonly end: Verb;
  readonly cancel: Verb;
  readonly correct: Verb;
  readonly alerts: Verb;
  readonly endAlerts: Verb;
  /** Reserves a bike for a partner. @returns the reservation */
  reserve(
    request: Parameters<typeof createReservation>[1]["request"],
    partnerId?: string,
  ): Promise<Row & { id: string }>;
  /** Cancels a partner's reservation. */
  giveBack(id: string, partnerId?: string): Promise<unknown>;
  station(id: string): Promise<Row>;
  bike(id: string): Promise<Row>;
  ride(id: string): Promise<Row>;
  reservation(id: string): Promise<Row>;
  /** Returns all events, oldest first: `<name> <id of its resource>`. */
  events(): Promise<string[]>;
  /** Returns the rows of the fleet, its alerts, events and counts, to compare with a later call. */
  picture(): Promise<unknown>;
  /** Expects every invariant to hold. */
  expectSound(): Promise<void>;
}

type Verb = (...items: readonly Item[]) => Promise<BatchResults>;

/** Statements with which the harness reads its rows. */
const read = (table: string) =>
  statement(`test.room.${table}`, `select * from ${table} where system_id = $1 and id = $2`);
const reads = {
  stations: read("stations"),
  bikes: read("bikes"),
  rides: read("rides"),
  reservations: read("reservations"),
};
const eventNames = statement(
  "test.room.events",
  `select name || ' ' || (data::json ->> 'id') as event from event_outbox where system_id = $1 order by occurred_at, id`,
);
const wholes = [
  "stations",
  "bikes",
  "rides",
  "reservations",
  "rider_alerts",
  "event_outbox",
  "list_counts",
  "ride_counts",
].map((table) => statement(`test.room.all.${table}`, `select * from ${table} order by 1, 2, 3`));

/** Opens a harness with a separate database. */
export async function openFleetHarness(): Promise<FleetHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  const ids = createTestIds();
  const live = { db, clock, ids };
  await addPartners(db, systemId, ["partner-1", "partner-2"]);
  const { stations, bikes, rides, alerts } = operatorContract;
  // Does what an endpoint does: parses the items by the contract, and passes them to the function.
  const verb =
    <Items>(
      contract: { readonly body: { parse(body: unknown): { items: Items } } },
      work: (context: CommandContext, systemId: string, items: Items) => Promise<BatchResults>,
    ): Verb =>
    (...items) =>
      work(live, systemId, contract.body.parse({ items }).items);
  const row = async (of: keyof typeof reads, id: string) => {
    const [found] = await db.query<Row>(reads[of], [systemId, id]);
    if (found === undefined) throw new Error(`${of}: there is no ${id}`);
    return found;
  };
  return {
    ...database,
    clock,
    ids,
    live,
    stations: verb(stations.upsert, upsertStations),
    offline: verb(stations.offline, takeStationsOffline),
    online: verb(stations.online, bringStationsOnline),
    remove: verb(stations.remove, removeStations),
    bikes: verb(bikes.upsert, upsertBikes),
    report: verb(bikes.report, reportBikes),
    past: verb(rides.upsertPast, upsertPastRides),
    start: verb(rides.start, startRides),
    end: verb(rides.end, endRides),
    cancel: verb(rides.cancel, cancelRides),
    correct: verb(rides.correct, correctRides),
    alerts: verb(alerts.upsert, upsertAlerts),
    endAlerts: verb(alerts.end, endAlerts),
    reserve: async (request, partnerId = "partner-1") =>
      JSON.parse(await createReservation(live, { systemId, partnerId, request })) as Row & { id: string },
    giveBack: (id, partnerId = "partner-1") => cancelReservation(live, { systemId, partnerId }, id),
    station: (id) => row("stations", id),
    bike: (id) => row("bikes", id),
    ride: (id) => row("rides", id),
    reservation: (id) => row("reservations", id),
    events: async () => (await db.query<{ event: string }>(eventNames, [systemId])).map(({ event }) => event),
    picture: () => Promise.all(wholes.map((whole) => db.query(whole))),
    expectSound: async () => {
      const checks = await checkInvariants(db, systemId);
      expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
    },
  };
}

/** Returns the outcome of each item, or the code of its error. */
export function outcomes({ results }: BatchResults): string[] {
  return results.map(({ outcome, error }) => error?.error ?? outcome);
}

/** Returns an item that creates a station. */
export function stationItem(id: string, fields: Item = {}): Item {
  return { id, name: `Station ${id}`, lat: 47.37, lon: 8.54, ...fields };
}
