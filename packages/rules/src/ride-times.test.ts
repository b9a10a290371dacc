import { describe, expect, it, test } from "vitest";
import { doOverlap, startBeside, storedEnd, storedTime } from "./ride-times.ts";

const at = (minutes: number) => new Date(Date.UTC(2026, 5, 1, 12) + minutes * 60_000);
const span = (from: number, to: number | null) => ({ started_at: at(from), ended_at: to === null ? null : at(to) });
const now = at(0);

describe("a time that a caller gives", () => {
  it("is now where none is given, or where it lies up to 5 minutes ahead, with a warning", () => {
    expect(storedTime("at", undefined, now)).toEqual({ at: now, isNow: true, warning: undefined });
    expect(storedTime("at", at(-1).toISOString(), now)).toEqual({ at: at(-1), isNow: false, warning: undefined });
    expect(storedTime("at", at(5).toISOString(), now)).toEqual({
      at: now,
      isNow: true,
      warning: ["clockAhead", { field: "at", seconds: 300, stored: now.toISOString() }],
    });
  });

  it("is refused where it lies further ahead", () => {
    expect(storedTime("at", at(5.01).toISOString(), now)).toEqual(["inFuture", { field: "at", limitSeconds: 300 }]);
  });

  it("as a ride's end is not before its start: refused where it says so, moved where it is now", () => {
    expect(storedEnd(at(1), "ended_at", undefined, now)).toMatchObject({ at: at(1) });
    expect(storedEnd(at(-1), "ended_at", at(-2).toISOString(), now)).toMatchObject(["endBeforeStart", {}]);
  });
});

test.each([
  ["one ends when the other begins", span(0, 1), span(1, 2), false],
  ["one begins in the other", span(0, 2), span(1, 3), true],
  ["one is not over", span(0, null), span(5, 6), true],
  ["one was over before the other, which is not", span(0, 1), span(1, null), false],
  ["one lasted no time, and began with the other", span(1, 1), span(1, 2), false],
])("whether two rides overlap, where %s", (_, a, b, expected) => {
  expect([doOverlap(a, b), doOverlap(b, a)]).toEqual([expected, expected]);
});

test("a start of now waits for the end of the ride before, as far as clocks differ", () => {
  const [soon, late, open] = [span(-9, 5), span(-9, 6), span(-9, null)];
  const time = { at: now, isNow: true, warning: undefined };
  expect(startBeside(time, [])).toEqual(now);
  expect(startBeside(time, [soon])).toEqual(at(5));
  expect(startBeside(time, [late])).toBe(late);
  expect(startBeside(time, [open])).toBe(open);
  expect(startBeside({ ...time, isNow: false }, [soon])).toBe(soon);
});
