import { expect, it } from "vitest";
import { neighbour, rangeText, readRange } from "../../src/pages/city/range.ts";
import { dayOf, daysLater, dayStart, lastingText } from "../../src/pages/city/times.ts";

const VIENNA = "Europe/Vienna";
const now = Date.parse("2026-11-26T08:30:00Z");
const none = { range: "", to: "", since: "", until: "" };

it("without anything in the address a range is today, in the city's zone", () => {
  const range = readRange(none, VIENNA, now);
  expect(range).toEqual({
    period: "day",
    from: "2026-11-25T23:00:00.000Z",
    to: "2026-11-26T23:00:00.000Z",
    step: "PT15M",
  });
  expect(rangeText(range, VIENNA)).toBe("Thu 26 Nov");
});

it("days on which clocks change have 23 and 25 hours", () => {
  const hours = (to: string) => {
    const range = readRange({ ...none, to }, VIENNA, now);
    return (Date.parse(range.to) - Date.parse(range.from)) / 3_600_000;
  };
  expect(hours("2026-03-29")).toBe(23);
  expect(hours("2026-10-25")).toBe(25);
  expect(new Date(dayStart("2026-10-26", VIENNA)).toISOString()).toBe("2026-10-25T23:00:00.000Z");
});

it("a day begins after midnight where midnight is skipped", () => {
  // In Santiago clocks went from 00:00 to 01:00.
  expect(new Date(dayStart("2026-09-06", "America/Santiago")).toISOString()).toBe("2026-09-06T04:00:00.000Z");
  expect(dayOf("2026-09-06T03:59:00Z", "America/Santiago")).toBe("2026-09-05");
});

it("one goes back a period, forward again, and not beyond today", () => {
  const week = readRange({ ...none, range: "week" }, VIENNA, now);
  expect(week).toMatchObject({ from: "2026-11-19T23:00:00.000Z", to: "2026-11-26T23:00:00.000Z", step: "PT1H" });
  const before = neighbour(week, -1, VIENNA, now);
  expect(before).toMatchObject({ range: "week", to: "2026-11-19" });
  const earlier = readRange(before!, VIENNA, now);
  expect(earlier.to).toBe(week.from);
  expect(neighbour(earlier, 1, VIENNA, now)).toMatchObject({ range: "week", to: "" });
  expect(neighbour(week, 1, VIENNA, now)).toBeUndefined();
});

it("a part that was chosen in a chart is shown in finer steps", () => {
  const chosen = { ...none, since: "2026-11-24T06:00:00.000Z", until: "2026-11-24T09:00:00.000Z" };
  const range = readRange(chosen, VIENNA, now);
  expect(range).toMatchObject({ period: undefined, step: "PT15M" });
  expect(rangeText(range, VIENNA)).toBe("Tue 24 Nov, 07:00–10:00");
  // Values that are no times give the default range.
  expect(readRange({ ...none, since: "x", until: "y" }, VIENNA, now).period).toBe("day");
  for (const to of ["2027-01-01", "2025-99-99", "2026-02-30", "2026-02", "x"])
    expect(readRange({ ...none, to }, VIENNA, now), to).toEqual(readRange(none, VIENNA, now));
});

it("lasting times are said in the units that people use", () => {
  const minute = 60_000;
  expect([0.5, 12, 60, 200, 2_875, 4_400].map((minutes) => lastingText(minutes * minute))).toEqual([
    "less than a minute",
    "12 min",
    "1 h",
    "3 h 20 min",
    "47 h 55 min",
    "3 days",
  ]);
  expect(daysLater("2026-02-28", 1)).toBe("2026-03-01");
});
