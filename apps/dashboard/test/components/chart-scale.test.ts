import { expect, it } from "vitest";
import { highest, niceMaximum, pointText, valueText, zonedTexts } from "../../src/components/chart-scale.ts";

const VIENNA = "Europe/Vienna";
const times = (from: string, stepMs: number, count: number) =>
  Array.from({ length: count }, (_, index) => new Date(Date.parse(from) + index * stepMs).toISOString());
const HOUR_MS = 3_600_000;

it("an axis ends at a round number above everything that is stacked", () => {
  const bars = [
    { label: "one", values: [3, null, 5] },
    { label: "other", values: [4, 2, null] },
    { label: "before", values: [6, 6, 6], kind: "before" as const },
  ];
  expect(highest(bars, 3)).toBe(7);
  expect([1, 7, 41, 230, 999].map(niceMaximum)).toEqual([2, 10, 50, 400, 1000]);
});

it("a day is labelled by its hours, a week by its days, in the city's zone and as far apart as there is room", () => {
  const day = zonedTexts(times("2026-11-25T23:00:00Z", HOUR_MS / 4, 96), VIENNA, 600);
  expect(day.ticks.map(({ text }) => text)).toEqual([
    "00:00",
    "03:00",
    "06:00",
    "09:00",
    "12:00",
    "15:00",
    "18:00",
    "21:00",
  ]);
  expect(day.full("2026-11-26T07:30:00Z")).toBe("Thu 26 Nov, 08:30");
  const narrow = zonedTexts(times("2026-11-25T23:00:00Z", HOUR_MS / 4, 96), VIENNA, 260);
  expect(narrow.ticks.map(({ text }) => text)).toEqual(["00:00", "06:00", "12:00", "18:00"]);
  const week = zonedTexts(times("2026-11-19T23:00:00Z", HOUR_MS, 168), VIENNA, 800);
  expect(week.ticks.map(({ text }) => text)[0]).toBe("Fri 20");
  expect(week.ticks).toHaveLength(7);
});

it("a year of days is labelled by its months, across the change of clocks", () => {
  const days = Array.from({ length: 365 }, (_, index) => {
    const date = new Date(Date.UTC(2026, 0, 1 + index));
    const isSummer = date >= new Date("2026-03-30") && date < new Date("2026-10-26");
    return new Date(date.getTime() - (isSummer ? 2 : 1) * HOUR_MS).toISOString();
  });
  const year = zonedTexts(days, VIENNA, 900);
  expect(year.ticks.map(({ text }) => text).slice(0, 4)).toEqual(["Jan", "Feb", "Mar", "Apr"]);
  expect(year.ticks).toHaveLength(12);
  expect(year.full(days[90]!)).toBe("Wed, 1 Apr 2026");
});

it("a value that is not known is not nought", () => {
  expect([null, 0, 12.34, 1_234.5].map(valueText)).toEqual(["–", "0", "12.3", "1,235"]);
  expect(pointText("08:30", [{ label: "Bikes", values: [null] }], 0, "bikes")).toBe("08:30: – bikes");
});
