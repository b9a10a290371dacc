import type { Reservation } from "@bikeshare/contract";
import { createRandom, type Random } from "@bikeshare/simulator";
import { randomRuns } from "@bikeshare/test-kit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addPartners } from "../../../test/partners.ts";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import {
  insertBikes,
  openReservationsHarness,
  outcomeOf,
  partner,
  partners,
  type ReservationsHarness,
} from "../../../test/reservations/reservations.harness.ts";
import { bikeRow } from "../../../test/rows.ts";
import { until } from "../../../test/until.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { createReservation } from "./create-reservation.ts";
import { cancelReservation } from "./reservation-commands.ts";

let harness: ReservationsHarness;
/** A second pool, like the connections of another process. */
let other: Database;

beforeEach(async () => {
  harness = await openReservationsHarness();
  other = openDatabase({ connectionString: harness.db.connectionString });
});
afterEach(async () => {
  await other.close();
  await harness.close();
});

/** Counts the answers by kind: `made`, or the rejection's code. Any other failure fails the test. */
async function tally(answers: readonly Promise<unknown>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const kind of await Promise.all(answers.map(outcomeOf))) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

/** Lists violations of what must hold between transactions: no bike is held twice, and bikes and reservations agree. */
const contradictions = statement(
  "test.contradictions",
  `select 'held twice: ' || bike_id as what from reservations where system_id = $1 and status = 'active' group by bike_id having count(*) > 1
   union all
   select 'not held: ' || r.id from reservations r where r.system_id = $1 and r.status = 'active' and not exists
     (select from bikes b where b.system_id = $1 and b.id = r.bike_id and b.reservation_id = r.id and b.vehicle_state = 'reserved')
   union all
   select 'held for nobody: ' || b.id from bikes b where b.system_id = $1 and (b.vehicle_state = 'reserved' or b.reservation_id is not null) and not exists
     (select from reservations r where r.system_id = $1 and r.id = b.reservation_id and r.status = 'active')
   union all
   select 'miscounted: ' || s.id from stations s where s.system_id = $1 and array[s.num_bikes_available, s.num_bikes_reserved] is distinct from
     (select array[count(*) filter (where vehicle_state = 'available'), count(*) filter (where vehicle_state = 'reserved')]::int[]
      from bikes b where b.system_id = $1 and b.station_id = s.id)
   union all
   select 'told wrongly: ' || r.id from reservations r
   left join (select data::json ->> 'id' as id, array_agg(name order by name collate "C") as names
              from event_outbox where system_id = $1 group by 1) as told on told.id = r.id
   where r.system_id = $1 and told.names is distinct from case r.status
     when 'active' then array['reservation.created']
     when 'expired' then array['reservation.created', 'reservation.expired']
     when 'cancelled' then array['reservation.cancelled', 'reservation.created'] end`,
);

async function contradictionsIn({ db, systemId }: ReservationsHarness): Promise<string[]> {
  return (await db.query<{ what: string }>(contradictions, [systemId])).map(({ what }) => what);
}

/** Rounds of the race that matters most; half of them end with a cancellation, half with an expiry. */
const RUNS = randomRuns(6);

test(`of eight who want the last bike at once one gets it, each of ${RUNS} times`, { timeout: 600_000 }, async () => {
  await harness.fill("s", [{ id: "last" }]);
  const { systemId } = harness;
  for (let round = 0; round < RUNS; round++) {
    const made: { readonly json: string; readonly by: string }[] = [];
    const answers = partners.map(async (partnerId, n) => {
      const live = { ...harness.live, db: n % 2 === 0 ? harness.db : other };
      const json = await createReservation(live, { systemId, partnerId, request: { station_id: "s" } });
      made.push({ json, by: partnerId });
    });
    expect(await tally(answers)).toEqual({ made: 1, no_bike_available: 7 });
    if (round % 2 === 0) await harness.cancel((JSON.parse(made[0]!.json) as Reservation).id, made[0]!.by);
    else harness.clock.advance(15 * 60_000);
  }
  await expireOverdueReservations(harness.live, harness.systemId, 10);
  expect(await contradictionsIn(harness)).toEqual([]);
});

test("of eight who want one bike at once one gets it", async () => {
  await harness.fill("s", [{ id: "a" }]);
  for (let round = 0; round < randomRuns(4); round++) {
    const made: { readonly id: string; readonly by: string }[] = [];
    const answers = partners.map(async (by) => made.push({ ...(await harness.create({ bike_id: "a" }, by)), by }));
    expect(await tally(answers)).toEqual({ made: 1, bike_not_available: 7 });
    await harness.cancel(made[0]!.id, made[0]!.by);
  }
});

test("as many get a bike as there are bikes, also when their reservations are all overdue", async () => {
  await harness.fill(
    "s",
    ["a", "b", "c", "d", "e"].map((id) => ({ id })),
  );
  for (let round = 0; round < randomRuns(4); round++) {
    const answers = partners.map((by) => harness.create({ station_id: "s" }, by));
    expect(await tally(answers)).toEqual({ made: 5, no_bike_available: 3 });
    harness.clock.advance(15 * 60_000);
  }
  expect(await contradictionsIn(harness)).toEqual([]);
});

test("a rider who asks eight times at once holds one bike", async () => {
  await harness.fill(
    "s",
    Array.from({ length: 8 }, (_, n) => ({ id: `bike-${n}` })),
  );
  for (let round = 0; round < randomRuns(4); round++) {
    const answers = Array.from({ length: 8 }, () => harness.create({ station_id: "s", rider_ref: "rider" }));
    expect(await tally(answers)).toEqual({ made: 1, rider_has_active_reservation: 7 });
    // Half of the runs begin with an overdue reservation.
    if (round % 2 === 0) harness.clock.advance(15 * 60_000);
    else await harness.cancel((await harness.list({ status: "active" })).data[0]!.id);
  }
  await expireOverdueReservations(harness.live, harness.systemId, 100);
  expect(await contradictionsIn(harness)).toEqual([]);
});

test.each([1, 7])(
  "a partner who asks for twenty bikes at once, on two processes, gets exactly the %i that it may have",
  async (limit) => {
    const { systemId } = harness;
    await addPartners(harness.db, systemId, ["bounded"], limit);
    await harness.fill(
      "s",
      Array.from({ length: 20 }, (_, n) => ({ id: `bike-${n}` })),
    );
    for (let round = 0; round < 5; round++) {
      const answers = Array.from({ length: 20 }, (_, n) => {
        const live = { ...harness.live, db: n % 2 === 0 ? harness.db : other };
        const request = n % 3 === 0 ? { bike_id: `bike-${n}` } : { station_id: "s" };
        return createReservation(live, { systemId, partnerId: "bounded", request });
      });
      expect(await tally(answers)).toMatchObject({ made: limit });
      expect((await harness.list({ status: "active" }, undefined, "bounded")).data).toHaveLength(limit);
      // Overdue reservations no longer count, whether or not the sweeper has expired them.
      harness.clock.advance(15 * 60_000);
    }
    expect(await contradictionsIn(harness)).toEqual([]);
  },
);

describe("a bike that is locked for a moment", () => {
  const lock = statement("test.lockBike", "select id from bikes where system_id = $1 and id = $2 for update");
  const waiting = statement(
    "test.countWaiting",
    "select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  const isWaiting = async () => (await other.query<{ n: number }>(waiting))[0]!.n > 0;

  test("by a report that leaves it free, is reserved once that is over", async () => {
    await harness.fill("s", [{ id: "a" }]);
    const made = other.transaction(async (tx) => {
      await tx.query(lock, [harness.systemId, "a"]);
      const answer = harness.create({ station_id: "s" }, "partner-2");
      await until(isWaiting);
      return { answer };
    });
    expect(await (await made).answer).toMatchObject({ bike_id: "a" });
  });

  test("by one who takes it, while another comes back, leads to the other", async () => {
    await harness.fill("s", [{ id: "a" }, { id: "b", vehicle_state: "non_operational" }]);
    const made = other.transaction(async (tx) => {
      await createReservation(
        { ...harness.live, db: tx },
        { systemId: harness.systemId, partnerId: partner, request: { bike_id: "a" } },
      );
      const answer = harness.create({ station_id: "s" }, "partner-2");
      await until(isWaiting);
      await harness.db.query(
        statement("", "update bikes set vehicle_state = 'available' where system_id = $1 and id = 'b'"),
        [harness.systemId],
      );
      return { answer };
    });
    expect(await (await made).answer).toMatchObject({ bike_id: "b" });
  });

  test("is passed over without a wait while there is another", async () => {
    await harness.fill("s", [{ id: "a", current_range_meters: 9 }, { id: "b" }]);
    await other.transaction(async (tx) => {
      await tx.query(lock, [harness.systemId, "a"]);
      expect(await harness.create({ station_id: "s" })).toMatchObject({ bike_id: "b" });
    });
  });
});

test("after any storm of creating, cancelling and expiring, bikes, reservations, counters and events agree, and none waited in a ring", async () => {
  const stations = ["s1", "s2", "s3"] as const;
  for (const station of stations) {
    // Few bikes, so that a station often has none left.
    const bikes = Array.from({ length: 3 }, (_, n) => ({ id: `${station}-${n}` }));
    await harness.fill(station, bikes, { counters: station === "s3" ? "mirrored" : "operated" });
  }
  await insertBikes(harness, [bikeRow({ id: "loose", station_id: null })]);
  const tried: Record<string, number> = {};
  for (let storm = 0; storm < randomRuns(1); storm++) {
    const pools = [openDatabase(harness.db), openDatabase(harness.db)] as const;
    const workers = Array.from({ length: 12 }, async (_, n) => {
      const random = createRandom(100 * storm + n);
      for (let acts = 0; acts < 40; acts++) {
        const kind = await outcomeOf(act(random, pools[n % 2 === 0 ? 0 : 1]));
        tried[kind] = (tried[kind] ?? 0) + 1;
      }
    });
    await Promise.all(workers);
    expect(await contradictionsIn(harness)).toEqual([]);
    // PostgreSQL adds a connection's deadlocks to the statistics when the connection ends.
    await Promise.all(pools.map((pool) => pool.close()));
    const deadlocks = statement("", "select deadlocks as n from pg_stat_database where datname = current_database()");
    expect(await harness.db.query(deadlocks)).toEqual([{ n: 0 }]);
  }
  // Every kind of outcome must occur, or the test proves nothing.
  for (const kind of [
    "made",
    "no_bike_available",
    "bike_not_available",
    "rider_has_active_reservation",
    "reservation_not_active",
  ]) {
    expect(tried[kind], kind).toBeGreaterThan(0);
  }

  async function act(random: Random, db: Database): Promise<unknown> {
    const live = { ...harness.live, db };
    const owner = { systemId: harness.systemId, partnerId: random.pick(["partner-1", "partner-2", "partner-3"]) };
    const rider = random.pick(["r1", "r2", "r3", "r4", undefined, undefined, undefined]);
    const request = { hold_minutes: random.between(1, 3), ...(rider === undefined ? {} : { rider_ref: rider }) };
    switch (
      random.pick(["station", "station", "station", "bike", "bike", "cancel", "cancel", "cancel", "expire", "wait"])
    ) {
      case "station":
        return createReservation(live, { ...owner, request: { ...request, station_id: random.pick(stations) } });
      case "bike": {
        const bike_id = random.between(0, 12) === 0 ? "loose" : `${random.pick(stations)}-${random.between(0, 2)}`;
        return createReservation(live, { ...owner, request: { ...request, bike_id } });
      }
      case "cancel": {
        const [first, ...more] = (await harness.list({}, { kind: "first", limit: 8 }, owner.partnerId)).data;
        return first && cancelReservation(live, owner, random.pick([first, ...more]).id);
      }
      case "expire":
        return expireOverdueReservations(live, harness.systemId, 3);
      case "wait":
        return harness.clock.advance(random.between(0, 20_000));
    }
  }
});
