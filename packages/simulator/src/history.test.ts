import fc from "fast-check";
import { expect, test } from "vitest";
import { makeCity } from "./city.ts";
import { makeHistory, type StationChange } from "./history.ts";
import { createRandom } from "./random.ts";

const NOW = Date.UTC(2026, 5, 10, 17, 30);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function pastOf(seed: number, options: { rides: number; days: number }, size = { stations: 30, bikes: 300 }) {
  const city = makeCity(createRandom(seed), size);
  const changes: StationChange[] = [];
  const onChange = (change: StationChange) => void changes.push(change);
  return { city, changes, ...makeHistory(city, createRandom(seed + 1), { ...options, now: NOW, onChange }) };
}

test("a bike is on one ride at a time: those that are over end before now, and those under way after it", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 1, max: 9 }), (seed, rides, days) => {
      const past = pastOf(seed, { rides, days });
      const ends = new Map<string, number>();
      const all = [...past.rides, ...past.underWay];
      const wrong = all.filter(({ bike, startedAt, endedAt }) => {
        const isAfterLast = startedAt >= (ends.get(bike.id) ?? 0);
        ends.set(bike.id, endedAt);
        return !isAfterLast || endedAt <= startedAt || startedAt >= NOW;
      });
      expect(wrong).toEqual([]);
      expect(past.rides.filter(({ endedAt }) => endedAt > NOW)).toEqual([]);
      expect(past.underWay.filter(({ endedAt }) => endedAt <= NOW)).toEqual([]);
      expect(all.length).toBeLessThanOrEqual(rides);
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    }),
    { numRuns: 10 },
  );
});

test("the changes of the stations lead to where the bikes stand, never beyond a station's docks", () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const { city, changes, standing, underWay } = pastOf(seed, { rides: 3000, days: 5 });
      const last = new Map<string, StationChange>();
      let before = 0;
      for (const change of changes) {
        expect(change.at).toBeGreaterThanOrEqual(before);
        expect(change.ebikes).toBeLessThanOrEqual(change.bikes);
        if (change.bikes > change.station.capacity)
          expect(change.bikes).toBeLessThanOrEqual(last.get(change.station.id)?.bikes ?? Infinity);
        before = change.at;
        last.set(change.station.id, change);
      }
      expect(standing.size + underWay.length).toBe(city.bikes.length);
      for (const { bike } of underWay) expect(standing.has(bike)).toBe(false);
      for (const station of city.stations) {
        const bikes = [...standing].filter(([, at]) => at === station).map(([bike]) => bike);
        expect(last.get(station.id)).toMatchObject({
          bikes: bikes.length,
          ebikes: bikes.filter(({ isElectric }) => isElectric).length,
        });
      }
    }),
    { numRuns: 5 },
  );
});

test("a working day has two rush hours, a weekend one in the middle of the day", () => {
  const { rides } = pastOf(7, { rides: 40_000, days: 28 }, { stations: 60, bikes: 900 });
  const starts = (isWeekend: boolean, hour: number) =>
    rides.filter(({ startedAt }) => {
      const date = new Date(startedAt);
      return [0, 6].includes(date.getUTCDay()) === isWeekend && date.getUTCHours() === hour;
    }).length;
  expect(starts(false, 8)).toBeGreaterThan(1.5 * starts(false, 12));
  expect(starts(false, 17)).toBeGreaterThan(1.5 * starts(false, 12));
  expect(starts(true, 13)).toBeGreaterThan(3 * starts(true, 7));
  // The 28 days contain each day of the week equally often. The oldest days are not much busier than the average.
  const perDay = rides.length / 28;
  expect(rides.filter(({ startedAt }) => startedAt < NOW - 26 * DAY_MS).length).toBeLessThan(3 * perDay);
});

test("the last half hour is as busy as the one before: nothing ends with the present", () => {
  const { rides, underWay } = pastOf(7, { rides: 40_000, days: 8 }, { stations: 60, bikes: 900 });
  const all = [...rides, ...underWay];
  const minutesAgo = (from: number, to: number) => (instant: number) =>
    instant >= NOW - from * 60_000 && instant < NOW - to * 60_000;
  const count = (isIn: (instant: number) => boolean) => all.filter(({ startedAt }) => isIn(startedAt)).length;
  expect(count(minutesAgo(30, 0))).toBeGreaterThan(0.7 * count(minutesAgo(60, 30)));
  expect(underWay.length).toBeGreaterThan(0);
});

test("the first day is a whole one, and the rides are nearly as many as asked for", () => {
  const { rides } = pastOf(7, { rides: 40_000, days: 28 }, { stations: 60, bikes: 900 });
  const firstDay = Math.floor(NOW / DAY_MS) * DAY_MS - 27 * DAY_MS;
  expect(Math.min(...rides.map(({ startedAt }) => startedAt))).toBeLessThan(firstDay + 2 * HOUR_MS);
  expect(rides.length).toBeGreaterThan(0.9 * 40_000);
});

test("the station in the very middle is full in the morning, and one station is offline for an afternoon", () => {
  const { changes } = pastOf(11, { rides: 40_000, days: 8 }, { stations: 60, bikes: 900 });
  const fullMornings = changes.filter(({ at, station, bikes }) => {
    const hour = Math.floor((at % DAY_MS) / HOUR_MS);
    return (hour === 8 || hour === 9) && bikes === station.capacity;
  });
  const days = new Set(fullMornings.map(({ at }) => Math.floor(at / DAY_MS)));
  expect(days.size).toBeGreaterThanOrEqual(5);
  const offline = changes.filter(({ isOffline }) => isOffline);
  expect(new Set(offline.map(({ station }) => station.id)).size).toBeGreaterThan(0);
  for (const { at } of offline) expect(new Date(at).getUTCHours()).toBeGreaterThanOrEqual(13);
});

test("the same seed gives the same past", () => {
  const options = { rides: 500, days: 3 };
  expect(pastOf(3, options).rides).toEqual(pastOf(3, options).rides);
});
