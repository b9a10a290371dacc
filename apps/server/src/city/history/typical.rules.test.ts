import { expect, test } from "vitest";
import {
  changesOver,
  countDays,
  forecastFrom,
  isBetter,
  type KnownHour,
  kindOfDay,
  outcomesOf,
  quartersOf,
  scoreForecasts,
  usualDays,
} from "./typical.rules.ts";

const HOUR_MS = 3_600_000;
const START = Date.parse("2026-04-06T00:00:00Z");

/** Hours of so many days in UTC from a Monday on. @param bikesAt what the station has at a quarter of a day */
function hours(days: number, bikesAt: (quarter: number, day: number) => number | null): KnownHour[] {
  return Array.from({ length: days * 24 }, (_, n) => {
    const at = START + n * HOUR_MS;
    const bikes = [0, 1, 2, 3].map((quarter) => bikesAt((n % 24) * 4 + quarter, Math.floor(n / 24)));
    return {
      ...{ at, day: new Date(at).toISOString().slice(0, 10), minute: (n % 24) * 60 },
      ...{ bikes, docks: bikes.map((count) => (count === null ? null : 10 - count)) },
    };
  });
}

test("a usual day has the spread of each quarter by kind of day, and what is not known is left out", () => {
  const quarters = quartersOf(hours(28, (quarter, day) => (quarter < 4 ? null : (day % 5) + (quarter === 40 ? 0 : 1))));
  const [weekday, weekend] = usualDays(quarters);
  expect([countDays(quarters), weekday?.days, weekend?.days]).toEqual([28, 20, 8]);
  expect(weekday?.quarters).toHaveLength(96);
  expect(weekday?.quarters[0]).toEqual({ time: "00:00", bikes: null, docks: null, empty: null, full: null });
  expect(weekday?.quarters[41]).toMatchObject({
    ...{ time: "10:15", bikes: { low: 1, median: 3, high: 5 }, docks: { low: 5, median: 7, high: 9 } },
    ...{ empty: 0, full: 0 },
  });
  expect(weekday?.quarters[40]?.empty).toBeCloseTo(0.2);
});

test("an hour that is half before midnight has its quarters in two days", () => {
  const [hour] = hours(1, (quarter) => quarter);
  const quarters = quartersOf([{ ...hour!, day: "2026-04-10", minute: 23 * 60 + 30 }]);
  expect(quarters.map(({ day, minute, kind }) => [day, minute, kind])).toEqual([
    ["2026-04-10", 1410, "weekday"],
    ["2026-04-10", 1425, "weekday"],
    ["2026-04-11", 0, "weekend"],
    ["2026-04-11", 15, "weekend"],
  ]);
  expect(kindOfDay("2026-04-12")).toBe("weekend");
});

test("a station that is emptied each morning is foreseen to be, and one that stays as it is does as now", () => {
  const emptied = quartersOf(hours(42, (quarter, day) => (quarter >= 32 && quarter < 60 ? 0 : 5 + (day % 2))));
  const changes = changesOver(emptied, "bikes", 2);
  const score = scoreForecasts(emptied, changes, { horizonQuarters: 2, most: 10 });
  expect(score?.tried).toBeGreaterThan(1_000);
  expect(score !== null && isBetter(score)).toBe(true);
  const atEight = { kind: "weekday", minute: 31 * 15 } as const;
  expect(forecastFrom(6, outcomesOf(changes, atEight, { now: 6, most: 10 })).at_least_one).toBeLessThan(0.7);

  const still = quartersOf(hours(42, () => 5));
  const none = scoreForecasts(still, changesOver(still, "bikes", 2), { horizonQuarters: 2, most: 10 });
  expect(none).toMatchObject({ change: { brier: 0, pinball: 0 }, as_now: { brier: 0, pinball: 0 } });
  expect(none !== null && isBetter(none)).toBe(false);
});

test("a forecast is judged by days before its own, and stays within what the station can hold", () => {
  const risen = quartersOf(hours(42, (_, day) => (day < 41 ? 0 : 9)));
  const changes = changesOver(risen, "bikes", 1);
  expect(outcomesOf(changes, { kind: "weekend", minute: 600 }, { now: 3, most: 4, before: 0 })).toEqual([]);
  const outcomes = outcomesOf(
    changesOver(quartersOf(hours(28, (quarter) => quarter)), "bikes", 4),
    {
      ...{ kind: "weekday", minute: 600 },
    },
    { now: 3, most: 5 },
  );
  expect(new Set(outcomes)).toEqual(new Set([5]));
});
