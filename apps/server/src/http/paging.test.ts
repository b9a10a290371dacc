import fc from "fast-check";
import { expect, it } from "vitest";
import { ridePosition } from "../rides/service.ts";

fc.configureGlobal({ seed: 1 });

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
