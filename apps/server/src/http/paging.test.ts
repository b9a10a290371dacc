import fc from "fast-check";
import { expect, it } from "vitest";
import { ridePosition } from "../rides/service.ts";
import { countPages } from "./paging.ts";

fc.configureGlobal({ seed: 1 });

it("pages are as many as hold all items, and one for an empty list", () => {
  expect(countPages(0, 50)).toBe(1);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000_000 }), fc.integer({ min: 1, max: 200 }), (total, limit) => {
      const pages = countPages(total, limit);
      expect(pages * limit).toBeGreaterThanOrEqual(total);
      expect((pages - 1) * limit).toBeLessThan(total);
    }),
  );
});

it("a ride's position is read as it was written, whatever its id", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true }),
      fc.string({ unit: "grapheme", minLength: 1 }),
      (at, id) => {
        const position = { startedAt: at.toISOString(), id };
        expect(ridePosition.decode(ridePosition.encode(position))).toEqual(position);
      },
    ),
  );
  for (const text of ["", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z ", "now ride", "2026-01-01 ride"])
    expect(ridePosition.decode(text)).toBeUndefined();
});
