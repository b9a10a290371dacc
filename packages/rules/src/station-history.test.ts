import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldHistory, readHistoryRange, readInstantOfHistory, type RecordedState } from "./station-history.ts";

fc.configureGlobal({ seed: 1 });

const at = (text: string) => Date.parse(text);
const NOW = at("2026-11-20T12:00:00Z");
const hoursOf = (from: string, to: string, step: "P1D" | "PT6H" | "PT1H" | "PT15M", zone: string) => {
  const { bounds } = readHistoryRange({ from, to, step }, zone, NOW);
  return bounds.slice(1).map((end, index) => (end - (bounds[index] ?? 0)) / 3_600_000);
};

describe("steps", () => {
  it("of a day are those of the time zone: 23 and 25 hours when the clocks change", () => {
    expect(hoursOf("2026-03-28T12:00:00Z", "2026-03-30T12:00:00Z", "P1D", "Europe/Oslo")).toEqual([24, 23, 24]);
    expect(hoursOf("2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", "P1D", "Europe/Oslo")).toEqual([24, 25, 24]);
    expect(hoursOf("2026-10-25T05:00:00Z", "2026-10-25T23:00:00Z", "PT6H", "Europe/Oslo")).toEqual([6, 6, 6, 1]);
    expect(hoursOf("2026-03-29T00:00:00Z", "2026-03-29T22:00:00Z", "PT6H", "Europe/Oslo")).toEqual([6, 6, 6, 5]);
  });

  it("begin at the first instant of a day where the clocks skip midnight, or change by half an hour", () => {
    const { bounds } = readHistoryRange(
      { from: "2026-09-06T10:00:00Z", to: "2026-09-06T11:00:00Z", step: "P1D" },
      "America/Santiago",
      NOW,
    );
    expect(bounds.map((bound) => new Date(bound).toISOString())).toEqual([
      "2026-09-06T04:00:00.000Z",
      "2026-09-07T03:00:00.000Z",
    ]);
    expect(hoursOf("2026-04-04T15:00:00Z", "2026-04-05T10:00:00Z", "P1D", "Australia/Lord_Howe")).toEqual([24.5]);
  });

  it("are whole ones around the times that are given, and end with the one that is not over", () => {
    const bounds = (query: Parameters<typeof readHistoryRange>[0]) =>
      readHistoryRange(query, "Asia/Kathmandu", NOW).bounds.map((bound) => new Date(bound).toISOString().slice(11, 16));
    expect(bounds({ from: "2026-11-20T10:20:00Z", to: "2026-11-20T11:20:00Z", step: "PT1H" })).toEqual([
      "10:15",
      "11:15",
      "12:15",
    ]);
    expect(bounds({ from: "2026-11-20T11:50:00Z", to: "2027-01-01T00:00:00Z" })).toEqual(["11:45", "12:00"]);
    expect(bounds({})).toHaveLength(97);
  });

  it("are refused when they are none, begin in the future or are more than 3,000", () => {
    const read = (from: string, to: string) => () => readHistoryRange({ from, to, step: "PT5M" }, "UTC", NOW);
    expect(read("2026-11-20T11:00:00Z", "2026-11-20T11:00:00Z")).toThrow("from must lie before to");
    expect(read("2026-11-20T12:00:01Z", "2026-11-20T13:00:00Z")).toThrow("future");
    expect(read("2026-11-01T00:00:00Z", "2026-11-11T10:00:00Z")).not.toThrow();
    expect(read("2026-11-01T00:00:00Z", "2026-11-11T10:05:00Z")).toThrow("3001 steps of PT5M");
    expect(read("0001-01-01T00:00:00Z", "2026-11-11T10:05:00Z")).toThrow("at most 3000");
  });

  it("meet without a gap, hold the given times, and lie within days, whatever the zone", () => {
    const zones = ["UTC", "Europe/Oslo", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "America/Santiago"];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: at("2010-01-01T00:00:00Z"), max: NOW }),
        fc.integer({ min: 1, max: 14 * 86_400_000 }),
        fc.constantFrom("PT30M" as const, "PT12H" as const, "P1D" as const),
        (zone, from, length, step) => {
          const to = Math.min(from + length, NOW + 1);
          const iso = (instant: number) => new Date(instant).toISOString();
          const { bounds } = readHistoryRange({ from: iso(from), to: iso(to), step }, zone, NOW + 1);
          expect(bounds[0]).toBeLessThanOrEqual(from);
          expect(bounds[1]).toBeGreaterThan(from);
          expect(bounds.at(-1)).toBeGreaterThanOrEqual(to);
          expect(bounds.at(-2)).toBeLessThan(to);
          expect(bounds.every((bound, index) => index === 0 || bound > (bounds[index - 1] ?? 0))).toBe(true);
        },
      ),
      { numRuns: randomRuns(40) },
    );
  });
});

describe("an instant", () => {
  it("that is a little ahead is now, and one in the future is refused", () => {
    expect(readInstantOfHistory("2026-11-20T12:00:30Z", NOW)).toBe(NOW);
    expect(readInstantOfHistory("2026-11-20T13:00:00+02:00", NOW)).toBe(NOW - 3_600_000);
    expect(() => readInstantOfHistory("2026-11-20T12:02:00Z", NOW)).toThrow("it is 2026-11-20T12:00:00.000Z now");
  });
});

describe("the fold", () => {
  const MINUTE = 60_000;
  const state = (minute: number, bikes: number, docks: number | null = 9, isOnline = true): RecordedState => ({
    ...{ at: minute * MINUTE, bikes, docks, isOnline },
  });

  it("weighs what a station had by the time that it lasted, and counts minutes empty, full and offline", () => {
    const fold = foldHistory([10, 20, 30, 40].map((minute) => minute * MINUTE));
    fold.add([state(0, 7), state(5, 2), state(12, 0, 4), state(17, 4, 0)]);
    fold.add([state(25, 4, 0, false), state(33, 6, null)]);
    const [first, second, third] = fold.finish(35 * MINUTE);
    expect(first).toEqual({
      ...{ from: "1970-01-01T00:10:00.000Z", to: "1970-01-01T00:20:00.000Z", minutes: 10 },
      bikes: { mean: 1.6, min: 0, max: 4 },
      docks: { mean: 3.8, min: 0, max: 9 },
      ...{ minutes_empty: 5, minutes_full: 3, minutes_offline: 0 },
    });
    expect(second).toMatchObject({ minutes: 10, minutes_full: 5, minutes_offline: 5, bikes: { mean: 4 } });
    expect(third).toMatchObject({ minutes: 5, minutes_offline: 3, bikes: { mean: 4.8 }, docks: { mean: 0 } });
  });

  it("knows nothing before the first state, nor of docks that are not published", () => {
    const fold = foldHistory([0, MINUTE, 2 * MINUTE]);
    fold.add([state(1, 3, null)]);
    expect(fold.finish(2 * MINUTE)).toMatchObject([
      { minutes: 0, bikes: null, docks: null },
      { minutes: 1, bikes: { mean: 3, min: 3, max: 3 }, docks: null },
    ]);
  });

  it("says of every step what looking at each moment of it says", () => {
    const states = fc.uniqueArray(fc.nat(60), { maxLength: 12 }).chain((times) =>
      fc.tuple(
        ...times
          .toSorted((a, b) => a - b)
          .map((time) =>
            fc.record({
              at: fc.constant(time),
              bikes: fc.nat(3),
              docks: fc.option(fc.nat(3)),
              isOnline: fc.boolean(),
            }),
          ),
      ),
    );
    const bounds = fc
      .uniqueArray(fc.nat(60), { minLength: 2, maxLength: 8 })
      .map((times) => times.toSorted((a, b) => a - b));
    fc.assert(
      fc.property(states, bounds, fc.nat(70), fc.nat(12), (given, edges, until, cut) => {
        const fold = foldHistory(edges.map((edge) => edge * MINUTE));
        const timed = given.map((each) => ({ ...each, at: each.at * MINUTE }));
        // Added in two parts, as the pages of a list arrive.
        fold.add(timed.slice(0, cut));
        fold.add(timed.slice(cut));
        const end = Math.max(until, given.at(-1)?.at ?? 0);
        for (const [index, point] of fold.finish(end * MINUTE).entries()) {
          const moments = Array.from({ length: 61 }, (_, minute) => minute).filter(
            (minute) => minute >= (edges[index] ?? 0) && minute < (edges[index + 1] ?? 0) && minute < end,
          );
          const seen = moments.flatMap((minute) => given.findLast((each) => each.at <= minute) ?? []);
          expect(point.minutes).toBe(seen.length);
          expect(point.minutes_empty).toBe(seen.filter(({ bikes, isOnline }) => isOnline && bikes === 0).length);
          expect(point.minutes_full).toBe(seen.filter(({ docks, isOnline }) => isOnline && docks === 0).length);
          expect(point.minutes_offline).toBe(seen.filter(({ isOnline }) => !isOnline).length);
          const values = seen.map(({ bikes }) => bikes);
          const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
          if (values.length === 0) expect(point.bikes).toBeNull();
          else {
            expect(point.bikes).toMatchObject({ min: Math.min(...values), max: Math.max(...values) });
            expect(point.bikes?.mean).toBeCloseTo(mean, 2);
          }
          expect(point.docks?.max ?? null).toBe(
            seen.reduce<number | null>((most, { docks }) => (docks === null ? most : Math.max(most ?? 0, docks)), null),
          );
        }
      }),
      { numRuns: randomRuns(200) },
    );
  });
});
