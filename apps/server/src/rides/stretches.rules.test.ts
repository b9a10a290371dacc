import fc from "fast-check";
import { expect, test } from "vitest";
import { behind, millisecondsOf, spanOf, type Stretch, withFewUncounted } from "./stretches.rules.ts";

/** Stretches of ten milliseconds, the youngest first. */
const row = <N extends number | undefined>(numbers: readonly N[]) =>
  numbers.map((n, index) => ({ from: (numbers.length - index) * 10, to: (numbers.length - index) * 10 + 10, n }));

test("an instant between two milliseconds counts as the later, because no ride lies between", () => {
  expect(millisecondsOf("2026-01-01T00:00:00.0005Z") - millisecondsOf("2026-01-01T00:00:00.000000Z")).toBe(1);
  expect(millisecondsOf("2026-01-01T00:00:00.0010Z") - millisecondsOf("2026-01-01T00:00:00Z")).toBe(1);
});

test("a page lies whole between the instants where it is looked for, at the position that counting from there gives", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { maxLength: 20 }),
      fc.nat(200),
      fc.integer({ min: 1, max: 30 }),
      (numbers, skip, limit) => {
        const rides = row(numbers).flatMap(({ from, n }) =>
          Array.from({ length: n }, (_, index) => from + 9 - (index * 9) / 20),
        );
        const span = spanOf(row(numbers), skip, limit);
        const wanted = rides.slice(skip, skip + limit);
        if (span === undefined) {
          expect(wanted).toEqual([]);
          return;
        }
        const inside = rides.filter((at) => at >= span.from && at < span.to);
        const ordered = span.fromEnd ? inside.toReversed() : inside;
        const found = ordered.slice(span.skip, span.skip + span.limit);
        expect(span.fromEnd ? found.reverse() : found).toEqual(wanted);
      },
    ),
  );
});

test("what follows a cursor is looked for where it is, whatever its own stretch holds", () => {
  expect(behind(row([5, 5, 5, 5]), 45, 8)).toEqual({ from: 20, to: 50 });
  expect(behind(row([5, undefined, 5, 5]), 45, 8)).toEqual({ from: 10, to: 50 });
  expect(behind(row([5, 5, 5, 5]), 45, Infinity)).toEqual({ from: 10, to: 50 });
  expect(behind([], 45, 8)).toEqual({ from: 45, to: 45 });
});

test("many stretches that are to be counted become one, and no ride is counted twice or left out", () => {
  const stretches: Stretch[] = row([3, undefined, 4, undefined, 5, undefined, 6]);
  expect(withFewUncounted(stretches, 3)).toEqual(stretches);
  expect(withFewUncounted(stretches, 2)).toEqual([
    { from: 70, to: 80, n: 3 },
    { from: 20, to: 70, n: undefined },
    { from: 10, to: 20, n: 6 },
  ]);
});
