import fc from "fast-check";
import { expect, it } from "vitest";
import { isoInstant, millisecondsOf } from "./iso-instant.ts";

it("writes any instant as Date does, whichever was written before", () => {
  const first = Date.UTC(0, 0, 1) - 1900 * 365.2425 * 86_400_000;
  const instants = fc.integer({ min: first, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });
  fc.assert(
    fc.property(fc.array(instants), fc.nat({ max: 200_000_000 }), (some, later) => {
      for (const instant of some.flatMap((each) => [each, each + later, each - later])) {
        expect(isoInstant(instant)).toBe(new Date(instant).toISOString());
      }
    }),
    { seed: 1 },
  );
});

it("an instant between two milliseconds counts as the later, because nothing that is kept lies between", () => {
  expect(millisecondsOf("2026-01-01T00:00:00.0005Z") - millisecondsOf("2026-01-01T00:00:00.000000Z")).toBe(1);
  expect(millisecondsOf("2026-01-01T00:00:00.0010Z") - millisecondsOf("2026-01-01T00:00:00Z")).toBe(1);
});
