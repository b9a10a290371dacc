import { createRandom } from "@bikeshare/simulator";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { statement } from "../../storage/db/statement.ts";
import { describe as describeSystem } from "../descriptions/service.ts";
import { listFlows } from "./flows.ts";
import { markHoursOfStations } from "./sum-marks.ts";
import { cityAtAGlance, sumsOfStations, systemSummary } from "./summary.ts";
import { makeFleetSamples } from "./sums-queries.ts";
import { sumSystem, sumWholePast } from "./sums.ts";

let harness: FleetHarness;
beforeEach(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A", { capacity: 2 }), stationItem("B", { capacity: 10 }));
  await harness.bikes({ id: "1", station_id: "A" }, { id: "2", station_id: "A" });
});
afterEach(() => harness.close());

const MINUTE_MS = 60_000;
const at = (time: string) => harness.clock.advance(Date.parse(`2026-06-01T${time}Z`) - harness.clock());
const sum = async (changedRides?: number, monotonic = () => performance.now()) => {
  // A write is before the horizon only after a second: pretends that the second has passed.
  await harness.db.query(passSecond);
  await harness.db.query(readSecond);
  return sumSystem({ ...harness, monotonic, ...(changedRides && { changedRides }) }, "main");
};
/** Runs a turn whose time is over before it reaches the past hours. */
const markOnly = () => {
  let now = 0;
  return sum(undefined, () => (now += 60_000));
};
const passSecond = statement("test.passSecond", "update rides set change_position = change_position - 1100000");
const readSecond = statement("test.readSecond", "update sum_progress set position = position - 1100000");
const summary = (query: Parameters<typeof systemSummary>[2]) => systemSummary(harness, "main", query);
const flows = (day: string, limit = 50) => listFlows(harness, "main", { from: day, to: day }, { kind: "first", limit });
const day = { from: "2026-06-01T12:00:00Z", to: "2026-06-01T18:00:00Z" };
const ridesByHour = async () =>
  (await summary(day)).data.map(({ rides_started: started, rides_ended: ended }) => `${started}/${ended}`);

test("a station's hour has its rides, and for how long it was empty, full and offline", async () => {
  await sum();
  at("12:30:00");
  await harness.start({ id: "r1", bike_id: "1" }, { id: "r2", bike_id: "2" });
  at("12:50:00");
  await harness.end({ id: "r1", end_station_id: "A" }, { id: "r2", end_station_id: "B" });
  at("13:15:00");
  await harness.offline({ id: "B" });
  at("14:05:00");
  await sum();
  const { data } = await sumsOfStations(harness, "main", { from: "2026-06-01T12:00:00Z", to: "2026-06-01T14:00:00Z" });
  expect(data).toEqual([
    // Full for the first half hour, with two bikes; empty for 20 minutes; then one.
    { id: "A", rides_started: 2, rides_ended: 1, minutes_empty: 20, minutes_full: 30, minutes_offline: 0, bikes: 1.1 },
    { id: "B", rides_started: 0, rides_ended: 1, minutes_empty: 50, minutes_full: 0, minutes_offline: 45, bikes: 0.3 },
  ]);
  const rows = await harness.db.query(
    statement("test.quarters", "select station_id, bikes, docks from station_hours where hour = $1 order by 1"),
    ["2026-06-01T13:00:00Z"],
  );
  expect(rows).toEqual([
    { station_id: "A", bikes: [1, 1, 1, 1], docks: [1, 1, 1, 1] },
    { station_id: "B", bikes: [1, null, null, null], docks: [9, null, null, null] },
  ]);
  expect(await ridesByHour()).toEqual(["2/2", "0/0", "0/0", "null/null", "null/null", "null/null"]);
});

test("a past is summed to its end, however many turns it takes", async () => {
  at("12:10:00");
  await harness.start({ id: "r1", bike_id: "1" });
  at("12:20:00");
  await harness.end({ id: "r1", end_station_id: "B" });
  at("23:05:00");
  await markOnly();
  let now = 0;
  const monotonic = () => (now += 7_000);
  await sumSystem({ ...harness, monotonic }, "main");
  expect((await ridesByHour()).slice(0, 2)).toEqual(["null/null", "null/null"]);
  await sumWholePast({ ...harness, monotonic }, "main", new AbortController().signal);
  expect(await ridesByHour()).toEqual(["1/1", "0/0", "0/0", "0/0", "0/0", "0/0"]);
});

describe("hours that are over are summed again", () => {
  beforeEach(async () => {
    at("12:10:00");
    await harness.start({ id: "r1", bike_id: "1" });
    at("12:20:00");
    await harness.end({ id: "r1", end_station_id: "B" });
    at("16:05:00");
    await sum();
    expect(await ridesByHour()).toEqual(["1/1", "0/0", "0/0", "0/0", "0/0", "null/null"]);
  });

  test("after late reports", async () => {
    await harness.past({
      ...{ id: "r0", bike_id: "9", started_at: "2026-06-01T13:59:00Z", ended_at: "2026-06-01T14:01:00Z" },
      ...{ start_station_id: "A", end_station_id: "B" },
    });
    await sum();
    expect(await ridesByHour()).toEqual(["1/1", "1/0", "0/1", "0/0", "0/0", "null/null"]);
  });

  test("after corrections, also the hour in which the ride ended before", async () => {
    await harness.correct({ id: "r1", ended_at: "2026-06-01T15:30:00Z", end_station_id: "A" });
    await sum();
    expect(await ridesByHour()).toEqual(["1/0", "0/0", "0/0", "0/1", "0/0", "null/null"]);
  });

  test("after cancellations", async () => {
    await harness.start({ id: "r2", bike_id: "2", started_at: "2026-06-01T15:59:59Z" });
    await sum();
    expect(await ridesByHour()).toEqual(["1/1", "0/0", "0/0", "1/0", "0/0", "null/null"]);
    await harness.cancel({ id: "r2" });
    await sum();
    expect(await ridesByHour()).toEqual(["1/1", "0/0", "0/0", "0/0", "0/0", "null/null"]);
  });

  test("of many rides that were written since, a few at a time", async () => {
    const past = (n: number) => ({
      ...{ id: `p${n}`, bike_id: `p${n}`, start_station_id: "A", end_station_id: "B" },
      ...{ started_at: `2026-06-01T1${2 + (n % 4)}:30:00Z`, ended_at: `2026-06-01T1${2 + (n % 4)}:40:00Z` },
    });
    await harness.past(...Array.from({ length: 40 }, (_, n) => past(n)));
    await sum(3);
    expect(await ridesByHour()).toEqual(["11/11", "10/10", "10/10", "10/10", "0/0", "null/null"]);
  });
});

test("several processes at once sum each hour once, and one that is stopped in the middle leaves its marks", async () => {
  at("12:10:00");
  await harness.start({ id: "r1", bike_id: "1" });
  at("15:00:00");
  const context = { ...harness, monotonic: () => performance.now() };
  const stopping = {
    ...context,
    db: {
      ...harness.db,
      transaction: ((work, options) =>
        harness.db.transaction(async (tx) => {
          const result = await work(tx);
          // The hours of this transaction are summed and not committed.
          if (result === 3) throw new Error("killed");
          return result;
        }, options)) satisfies FleetHarness["db"]["transaction"],
    },
  };
  await expect(sumSystem(stopping, "main")).rejects.toThrow("killed");
  const counts = await Promise.all(Array.from({ length: 4 }, () => sumSystem(context, "main")));
  // Where processes get in each other's way, the next run sums what is left.
  counts.push(await sumSystem(context, "main"));
  expect(counts.reduce((all, n) => all + n)).toBeGreaterThanOrEqual(3);
  expect(await ridesByHour()).toEqual(["1/0", "0/0", "0/0", "null/null", "null/null", "null/null"]);
});

test("flows leave out pairs with fewer than five rides and count them, page by page", async () => {
  const ride = (id: string, start: string, end: string) => ({
    ...{ id, bike_id: id, start_station_id: start, end_station_id: end },
    ...{ started_at: "2026-05-31T10:00:00Z", ended_at: "2026-05-31T10:10:00Z" },
  });
  const rides = [["A", "A", 5] as const, ["A", "B", 4] as const, ["B", "A", 7] as const].flatMap(([start, end, n]) =>
    Array.from({ length: n }, (_, index) => ride(`${start}${end}${index}`, start, end)),
  );
  await harness.past(...rides);
  await sum();
  const first = await flows("2026-05-31", 1);
  expect(first).toMatchObject({
    data: [{ start_station_id: "A", end_station_id: "A", rides: 5 }],
    left_out: { pairs: 0, rides: 0 },
    next: ["A", "A"],
  });
  const next = first.next ?? ["", ""];
  const rest = await listFlows(
    harness,
    "main",
    { from: "2026-05-31", to: "2026-05-31" },
    { kind: "cursor", after: next, limit: 1 },
  );
  expect(rest).toMatchObject({
    data: [{ start_station_id: "B", end_station_id: "A", rides: 7 }],
    left_out: { pairs: 1, rides: 4 },
    next: undefined,
  });
  const ofB = { from: "2026-05-31", to: "2026-05-31", station_id: "B" };
  expect(await listFlows(harness, "main", ofB, { kind: "first", limit: 10 })).toMatchObject({
    data: [{ start_station_id: "B", end_station_id: "A", rides: 7 }],
    left_out: { pairs: 1, rides: 4 },
  });
});

test("days are the system's: 23 and 25 hours long when clocks change, and made again when its zone changes", async () => {
  at("12:00:00");
  const past = (id: string, started_at: string) => ({
    ...{ id, bike_id: id, start_station_id: "A", end_station_id: "B", started_at },
    ended_at: new Date(Date.parse(started_at) + MINUTE_MS).toISOString(),
  });
  // One ride in each hour of the 28th to the 30th of March (UTC); clocks in Oslo went forward on the 29th.
  const hours = Array.from({ length: 72 }, (_, hour) => Date.parse("2026-03-28T00:30:00Z") + hour * 60 * MINUTE_MS);
  await harness.past(...hours.map((hour, n) => past(`r${n}`, new Date(hour).toISOString())));
  await sum();
  const spring = { step: "P1D", from: "2026-03-29T00:00:00Z", to: "2026-03-30T00:00:00Z" } as const;
  expect((await summary(spring)).data.map((step) => step.rides_started)).toEqual([24]);
  expect((await flows("2026-03-29")).data[0]?.rides).toBe(24);

  await describeSystem({ ...harness, actor: "cli" }, "main", "system", "", { timezone: "Europe/Oslo" });
  await sum();
  const { data, time_zone: zone } = await summary({
    ...{ step: "P1D", from: "2026-03-29T12:00:00Z", to: "2026-03-29T13:00:00Z" },
  });
  expect([zone, data]).toMatchObject([
    "Europe/Oslo",
    [{ from: "2026-03-28T23:00:00.000Z", to: "2026-03-29T22:00:00.000Z", rides_started: 23 }],
  ]);
  expect((await flows("2026-03-29")).data[0]?.rides).toBe(23);
  const autumn = await summary({ step: "P1D", from: "2025-10-26T00:00:00Z", to: "2025-10-26T12:00:00Z" });
  expect(autumn.data).toMatchObject([{ from: "2025-10-25T22:00:00.000Z", to: "2025-10-26T23:00:00.000Z" }]);
});

test("hours that were never summed have no sums rather than no rides", async () => {
  const ride = (id: string, hour: string) => ({
    ...{ id, bike_id: id, start_station_id: "A", end_station_id: "B" },
    ...{ started_at: `${hour}:05:00Z`, ended_at: `${hour}:15:00Z` },
  });
  const pastRides = async () => {
    const { data } = await summary({ step: "PT1H", from: "2026-05-25T10:00:00Z", to: "2026-05-25T14:00:00Z" });
    const [whole] = (await summary({ step: "P1D", from: "2026-05-25T00:00:00Z", to: "2026-05-26T00:00:00Z" })).data;
    return [...data, whole].map((step) => step?.rides_started);
  };
  const usual = async () => (await cityAtAGlance(harness, "main", MINUTE_MS)).rides.before;
  at("12:30:00");
  await harness.past(ride("a", "2026-05-25T11"));
  await markOnly();
  expect([await pastRides(), await usual()]).toEqual([[null, null, null, null, null], []]);
  await sum();
  expect([await pastRides(), await usual()]).toMatchObject([[null, 1, 0, 0, 1], [{ day: "2026-05-25", whole_day: 1 }]]);
  // Imports a ride before the others, one in an hour without rides until now, and one in an hour that has some.
  await harness.past(ride("b", "2026-05-25T10"), ride("c", "2026-05-25T12"), ride("d", "2026-05-25T11"));
  await markOnly();
  expect([await pastRides(), await usual()]).toEqual([[null, 1, null, 0, null], []]);
  await sum();
  expect(await pastRides()).toEqual([1, 2, 1, 0, 4]);
});

test("hours before the retention of the sums have none, whatever old state a feed reports", async () => {
  const old = { started_at: "2015-06-01T11:05:00Z", ended_at: "2015-06-01T11:15:00Z" };
  await harness.past({ id: "old", bike_id: "old", ...old });
  const oldRides = async () =>
    (await summary({ step: "PT1H", from: "2015-06-01T11:00:00Z", to: "2015-06-01T12:00:00Z" })).data[0]?.rides_started;
  await sum();
  expect(await oldRides()).toBeNull();
  const [state, now] = [new Date("2014-01-01T00:00:00Z"), new Date(harness.clock())];
  await harness.db.transaction(async (tx) => markHoursOfStations(tx, "main", state, now));
  await sum();
  expect(await oldRides()).toBeNull();
});

test("a glance shows the bikes by state, since when stations are empty, and today against the same days before", async () => {
  const weekAgo = {
    ...{ id: "w", bike_id: "w", start_station_id: "A", end_station_id: "B" },
    ...{ started_at: "2026-05-25T12:05:00Z", ended_at: "2026-05-25T12:15:00Z" },
  };
  await harness.past(weekAgo, {
    ...weekAgo,
    id: "x",
    bike_id: "x",
    started_at: "2026-05-25T20:00:00Z",
    ended_at: "2026-05-25T20:01:00Z",
  });
  at("12:30:00");
  await harness.start({ id: "r1", bike_id: "1" }, { id: "r2", bike_id: "2" });
  at("12:40:00");
  await harness.report({ id: "2", at: "2026-06-01T12:40:00Z", vehicle_state: "missing" });
  at("13:00:00");
  await sum();
  expect(await cityAtAGlance(harness, "main", 20 * MINUTE_MS)).toMatchObject({
    fleet: { available: 0, reserved: 0, on_trip: 2, disabled: 0, missing: 0 },
    stations: {
      online: 2,
      empty: {
        count: 2,
        data: [
          { id: "B", since: "2026-06-01T12:00:00.000Z" },
          { id: "A", since: "2026-06-01T12:30:00.000Z" },
        ],
      },
      full: { count: 0, data: [] },
    },
    rides: {
      under_way: 2,
      under_way_long: 2,
      today: { day: "2026-06-01", until_now: 2, whole_day: null },
      before: [{ day: "2026-05-25", until_now: 1, whole_day: 2 }],
      usual_until_now: 1,
    },
  });
});

test("the hour in which summing begins has samples of the fleet from its start, made of what had happened", async () => {
  at("12:30:00");
  await harness.start({ id: "r1", bike_id: "1" });
  at("12:50:00");
  await sum();
  const { data } = await summary({ from: "2026-06-01T12:00:00Z", to: "2026-06-01T13:00:00Z", step: "PT15M" });
  expect(data.map(({ fleet }) => fleet && [fleet.available, fleet.on_trip])).toEqual([
    [2, null],
    [2, null],
    [1, 1],
    [1, 1],
  ]);
});

test("each sample that is made counts the rides under way at its time, a day at most, whichever hours are summed together", async () => {
  const random = createRandom(7);
  const first = harness.clock();
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  // Many begin or end exactly at the time of a sample, or a millisecond beside it.
  const instant = (from: number, minutes: number) =>
    from + random.between(0, minutes / 5 - 1) * 5 * MINUTE_MS + random.between(-1, 1);
  const rides = Array.from({ length: 60 }, (_, n) => {
    const start = instant(first + HOUR_MS, 2_400);
    return { id: `r${n}`, bike_id: `b${n}`, start, end: instant(start + 5 * MINUTE_MS, n % 5 === 0 ? 2_000 : 60) };
  });
  // Its day is over in the middle of a summed hour.
  rides.push({ id: "long", bike_id: "long", start: first + 6.5 * HOUR_MS, end: first + 40 * HOUR_MS });
  harness.clock.advance(5 * DAY_MS);
  const iso = (ms: number) => new Date(ms).toISOString();
  await harness.past(
    ...rides.map(({ start, end, ...ride }) => ({ ...ride, started_at: iso(start), ended_at: iso(end) })),
  );
  const hours = [1, 2, 3, 9, 20, 21, 30, 31, 32, 33, 60, 90].map((n) => new Date(first + n * HOUR_MS));
  await harness.db.transaction((tx) => makeFleetSamples(tx, "main", hours, new Date(harness.clock())));

  const expected = hours.flatMap((hour) =>
    Array.from({ length: 12 }, (_, n) => {
      const time = hour.getTime() + n * 5 * MINUTE_MS;
      const begun = rides.filter(({ start }) => start <= time && start > time - DAY_MS);
      return { at: new Date(time), on_trip: begun.length === 0 ? null : begun.filter(({ end }) => end > time).length };
    }),
  );
  const samples = statement("test.samples", "select at, on_trip from fleet_samples where not is_live order by at");
  expect(await harness.db.query(samples)).toEqual(expected);
  expect(new Set(expected.map(({ on_trip: n }) => n)).size).toBeGreaterThan(4);
});

test("today counts every ride of the quarter of an hour that is not over", async () => {
  at("12:30:00");
  await harness.start({ id: "r1", bike_id: "1" }, { id: "r2", bike_id: "2" });
  at("12:31:00");
  await sum();
  expect((await cityAtAGlance(harness, "main", MINUTE_MS)).rides.today.until_now).toBe(2);
});

test("a station is so since its newest change from another state, however many months and changes ago", async () => {
  at("12:30:00");
  await harness.start({ id: "r", bike_id: "1" });
  at("13:00:00");
  await harness.offline({ id: "A" }, { id: "B" });
  harness.clock.advance(70 * 24 * 60 * MINUTE_MS);
  await harness.end({ id: "r", end_station_id: "B" });
  const { offline } = (await cityAtAGlance(harness, "main", MINUTE_MS)).stations;
  expect(offline).toMatchObject({
    count: 2,
    data: [
      { id: "A", since: "2026-06-01T13:00:00.000Z" },
      { id: "B", bikes: 1, since: "2026-06-01T13:00:00.000Z" },
    ],
  });
});

test("check finds sums that are not those of the rides, and leaves out hours that are yet to be summed", async () => {
  const check = async () => (await checkInvariants(harness.db, "main")).find(({ name }) => name === "ride_sums");
  at("12:10:00");
  await harness.start({ id: "r1", bike_id: "1" }, { id: "r2", bike_id: "2" });
  at("14:30:00");
  await sum();
  expect(await check()).toMatchObject({ broken: 0 });
  await harness.past({
    ...{ id: "late", bike_id: "3", start_station_id: "A", end_station_id: "B" },
    ...{ started_at: "2026-06-01T12:20:00Z", ended_at: "2026-06-01T12:40:00Z" },
  });
  expect(await check()).toMatchObject({ broken: 0 });
  await sum();
  expect(await check()).toMatchObject({ broken: 0 });
  const spoil = "update ride_quarters set rides_started = 7 where starts_at = '2026-06-01T12:15:00Z'";
  await harness.db.query(statement("test.spoilSums", spoil));
  const examples = ["2026-06-01T12:15Z: 7 started and 0 ended kept, 1 and 0 there"];
  expect(await check()).toMatchObject({ broken: 1, examples });
});
