import { expect, it } from "vitest";
import { countedSteps, cutOf } from "./counted-steps.rules.ts";

const at = (hour: number, minute = 0) => new Date(Date.UTC(2026, 2, 1, hour, minute));
const bounds = [at(0), at(1), at(2), at(3)];
const row = (step: number, n: number, oldest: Date) => ({ step, n, oldest_at: oldest });

it("steps without rows are empty, and all count while the bound is not passed", () => {
  const rows = [row(1, 2, at(0, 10)), row(3, 3, at(2, 5))];
  const { steps, countedFrom } = countedSteps(bounds, rows, cutOf(rows, 5));
  expect(steps.map((step) => step.row)).toEqual([rows[0], undefined, rows[1]]);
  expect(steps[1]).toEqual({
    from: "2026-03-01T01:00:00.000Z",
    to: "2026-03-01T02:00:00.000Z",
    isCounted: true,
    row: undefined,
  });
  expect(countedFrom).toBeNull();
});

it("the step in which the bound was passed is not counted, nor is any before it", () => {
  const rows = [row(2, 2, at(1, 40)), row(3, 4, at(2))];
  const { steps, countedFrom } = countedSteps(bounds, rows, cutOf(rows, 5));
  expect(steps.map((step) => step.isCounted)).toEqual([false, false, true]);
  expect(steps.map((step) => step.row)).toEqual([undefined, undefined, rows[1]]);
  expect(countedFrom).toBe("2026-03-01T01:40:00.000Z");
  // Some rows of the instant at which the count was cut may be missing.
  expect(countedSteps(bounds, [row(3, 6, at(2))], at(2)).steps.map((step) => step.isCounted)).toEqual([
    false,
    false,
    false,
  ]);
});
