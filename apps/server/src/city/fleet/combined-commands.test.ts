import { operatorContract, type ReservationRequest } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import { combineRequests, type RepeatableRequest } from "../../http/idempotency.ts";
import { createReservation, createReservations } from "./create-reservation.ts";
import { endRides } from "./finish-rides.ts";
import { cancelReservation, cancelReservations } from "./reservation-commands.ts";
import { startRides } from "./start-rides.ts";

/*
 * Calls that share a transaction must have the same results as one after the other, and leave the same rows.
 */

const STATIONS = ["s", "t"];
const BIKES = ["a", "b", "c", "d"];
const PARTNERS = ["partner-1", "partner-2"];

async function fill(harness: FleetHarness): Promise<void> {
  await harness.stations(...STATIONS.map((id) => stationItem(id)));
  await harness.bikes(...BIKES.map((id, n) => ({ id, station_id: STATIONS[n % 2], current_range_meters: n })));
}

/** Returns the rows of a system for comparison, without random ids and the rows' times. */
async function stateOf({ db, systemId }: FleetHarness): Promise<unknown> {
  const rows = (text: string) => db.query({ name: "", text }, [systemId]);
  return Promise.all([
    rows(
      "select id, vehicle_state, station_id, ride_id, reservation_id is null as free from bikes where system_id = $1 order by id",
    ),
    rows("select id, bike_id, status, start_station_id, end_station_id from rides where system_id = $1 order by id"),
    rows("select partner_id, bike_id, rider_ref, status from reservations where system_id = $1 order by 1, 2, 3, 4"),
    rows("select id, num_bikes_available, num_bikes_reserved from stations where system_id = $1 order by id"),
    rows("select name, partner_id, count(*) as n from event_outbox where system_id = $1 group by 1, 2 order by 1, 2"),
    rows("select list, sum(n) as n from list_counts where system_id = $1 group by list order by list"),
  ]);
}

async function withTwo(work: (together: FleetHarness, oneByOne: FleetHarness) => Promise<void>): Promise<void> {
  const both = [await openFleetHarness(), await openFleetHarness()] as const;
  try {
    await Promise.all(both.map(fill));
    await work(...both);
    expect(await stateOf(both[0])).toEqual(await stateOf(both[1]));
    for (const each of both) await each.expectSound();
  } finally {
    for (const each of both) await each.close();
  }
}

const ride = fc.constantFrom("r1", "r2", "r3", "r4", "r5");
const starts = fc.array(fc.record({ id: ride, bike_id: fc.constantFrom(...BIKES, "unknown") }), {
  minLength: 1,
  maxLength: 8,
});
const ends = fc.array(fc.record({ id: ride, end_station_id: fc.constantFrom(...STATIONS, "unknown") }), {
  minLength: 1,
  maxLength: 8,
});

test("rides that start and end together do so as one after the other", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(starts, ends), { minLength: 1, maxLength: 3 }), async (steps) => {
      await withTwo(async (together, oneByOne) => {
        for (const [begun, ended] of steps) {
          const { start, end } = operatorContract.rides;
          const startItems = start.body.parse({ items: begun }).items;
          const endItems = end.body.parse({ items: ended }).items;
          const { live, systemId } = oneByOne;
          const started = await startRides(together.live, systemId, startItems);
          const alone = [];
          for (const item of startItems) alone.push(...outcomes(await startRides(live, systemId, [item])));
          expect(outcomes(started)).toEqual(alone);
          const finished = await endRides(together.live, systemId, endItems);
          const finishedAlone = [];
          for (const item of endItems) finishedAlone.push(...outcomes(await endRides(live, systemId, [item])));
          expect(outcomes(finished)).toEqual(finishedAlone);
        }
      });
    }),
    { numRuns: randomRuns(4), endOnFailure: true },
  );
});

/** A request for a bike; or a request to cancel an earlier reservation, which a number picks. */
const wanted = fc.record({
  partnerId: fc.constantFrom(...PARTNERS),
  request: fc.record(
    {
      target: fc.oneof(
        fc.record({ station_id: fc.constantFrom(...STATIONS, "unknown") }),
        fc.record({ bike_id: fc.constantFrom(...BIKES, "unknown") }),
      ),
      rider_ref: fc.constantFrom("x", "y"),
    },
    { requiredKeys: ["target"] },
  ),
});
const reservationSteps = fc.array(
  fc.record({
    creates: fc.array(wanted, { minLength: 1, maxLength: 7 }),
    cancels: fc.array(fc.record({ n: fc.nat(9), partnerId: fc.constantFrom(...PARTNERS) }), { maxLength: 6 }),
    minutes: fc.constantFrom(0, 0, 16),
  }),
  { minLength: 1, maxLength: 4 },
);

const codeOf = (error: unknown) => (error instanceof ServiceError ? error.code : String(error));
const shown = (json: string) => {
  const { bike_id, rider_ref, status } = JSON.parse(json) as Record<string, unknown>;
  return `${String(bike_id)} ${String(rider_ref)} ${String(status)}`;
};

test("reservations that are made and cancelled together are as one after the other", { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(reservationSteps, async (steps) => {
      await withTwo(async (together, oneByOne) => {
        const { systemId } = together;
        const made: { readonly together: string; readonly alone: string }[] = [];
        for (const { creates, cancels, minutes } of steps) {
          const calls = creates.map(({ partnerId, request: { target, ...rest } }) => ({
            systemId,
            partnerId,
            request: { ...target, ...rest } as ReservationRequest,
          }));
          const outcomesTogether = await createReservations(together.live, systemId, calls);
          for (const [index, call] of calls.entries()) {
            const first = outcomesTogether[index]!;
            // `run-alone` must not occur, because nobody else holds a lock.
            if (first === "run-alone") throw new Error("nothing has to wait");
            const second = await createReservation(oneByOne.live, call).then(
              (result) => ({ result }),
              (error: unknown) => ({ error }),
            );
            if ("error" in first || "error" in second) {
              expect("error" in first && codeOf(first.error)).toBe("error" in second && codeOf(second.error));
            } else {
              expect(shown(first.result)).toBe(shown(second.result));
              const idOf = (json: string) => (JSON.parse(json) as { id: string }).id;
              made.push({ together: idOf(first.result), alone: idOf(second.result) });
            }
          }
          for (const each of [together, oneByOne]) each.clock.advance(minutes * 60_000);
          const chosen = cancels.map(({ n, partnerId }) => ({ partnerId, ids: made[n] }));
          const cancelled = await cancelReservations(
            together.live,
            systemId,
            chosen.map(({ partnerId, ids }) => ({ partnerId, id: ids?.together ?? "unknown" })),
          );
          for (const [index, { partnerId, ids }] of chosen.entries()) {
            const first = cancelled[index]!;
            const second = await cancelReservation(
              oneByOne.live,
              { systemId, partnerId },
              ids?.alone ?? "unknown",
            ).then(shown, codeOf);
            expect("result" in first ? shown(first.result) : codeOf(first.error)).toBe(second);
          }
          // Calls about overdue reservations run alone, after the others. Expiring here avoids that different order.
          for (const { live } of [together, oneByOne]) await expireOverdueReservations(live, systemId, 100);
        }
      });
    }),
    { numRuns: randomRuns(5), endOnFailure: true },
  );
});

test("a partner does not get at another's reservation by a request that shares the owner's transaction", async () => {
  const harness = await openFleetHarness();
  try {
    await fill(harness);
    const { id } = await harness.reserve({ bike_id: "a" }, "partner-1");
    const both = PARTNERS.toReversed().map((partnerId) => ({ partnerId, id }));
    const [other, owner] = await cancelReservations(harness.live, harness.systemId, both);
    expect(other).toMatchObject({ error: { code: "not_found" } });
    expect(owner).toMatchObject({ result: expect.stringContaining('"cancelled"') as string });
  } finally {
    await harness.close();
  }
});

test("of many who want few bikes of a station at once, through one combiner, as many as there are bikes get one", async () => {
  const harness = await openFleetHarness();
  try {
    await fill(harness);
    const { live, systemId } = harness;
    const create = combineRequests<{ partnerId: string; request: ReservationRequest }>(
      { ...live, db: harness.db },
      {
        together: async (_system, tx, calls) =>
          (
            await createReservations(
              { ...live, db: tx },
              systemId,
              calls.map((call) => ({ ...call, systemId })),
            )
          ).map((outcome) =>
            typeof outcome === "object" && "result" in outcome
              ? { result: { status: 201, body: outcome.result } }
              : outcome,
          ),
        alone: async (_system, call, tx) => ({
          status: 201,
          body: await createReservation({ ...live, db: tx }, { ...call, systemId }),
        }),
      },
    );
    const call = (n: number): RepeatableRequest => ({
      systemId,
      caller: PARTNERS[n % 2] ?? "",
      keyId: `key-${n % 2}`,
      path: "/v1/reservations",
      // Each caller sends each request twice.
      key: `key-${Math.floor(n / 4)}`,
      body: { station_id: "s" },
    });
    const answers = await Promise.allSettled(
      Array.from({ length: 80 }, (_, n) =>
        create(call(n), { partnerId: PARTNERS[n % 2] ?? "", request: { station_id: "s" } }),
      ),
    );
    const done = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    expect(done.filter(({ replayed }) => !replayed)).toHaveLength(2);
    expect(new Set(done.map(({ body }) => body)).size).toBe(2);
    for (const answer of answers) {
      if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "no_bike_available" });
    }
    await harness.expectSound();
  } finally {
    await harness.close();
  }
});
