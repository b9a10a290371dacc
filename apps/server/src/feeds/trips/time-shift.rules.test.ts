import fc from "fast-check";
import { expect, it } from "vitest";
import { createShiftCounter } from "./trip-times.rules.ts";

const ride = (shiftSeconds: number | null, importId: string | null = "import_1") => ({
  row: 1,
  id: "r",
  importId,
  shiftSeconds,
});

function resultOf(rides: readonly ReturnType<typeof ride>[]) {
  const counter = createShiftCounter();
  for (const one of rides) counter.add(one);
  return counter.result();
}

it("rides moved by whole quarters of an hour are told, by what most of them are moved, with the import they came with", () => {
  const moved = [...Array.from({ length: 18 }, () => ride(-21_600)), ride(-18_000, "import_2"), ride(null)];
  expect(resultOf(moved)).toEqual({ rows: 19, seconds: -21_600, import_id: "import_1" });
});

it("rides that differ in other ways are not", () => {
  expect(resultOf([])).toBeUndefined();
  expect(resultOf([ride(3600), ride(3600)])).toBeUndefined();
  expect(resultOf([ride(0), ride(0), ride(0), ride(0)])).toBeUndefined();
  expect(resultOf([ride(7), ride(8), ride(9), ride(100)])).toBeUndefined();
  expect(resultOf([ride(86_400 * 2), ride(86_400 * 2), ride(86_400 * 2)])).toBeUndefined();
});

it("takes nine moved rides in ten", () => {
  fc.assert(
    fc.property(fc.integer({ min: 3, max: 100 }), fc.integer({ min: 0, max: 100 }), (moved, other) => {
      const rides = [
        ...Array.from({ length: moved }, () => ride(3600)),
        ...Array.from({ length: other }, () => ride(1)),
      ];
      expect(resultOf(rides) !== undefined).toBe(moved >= 9 * other);
    }),
  );
});
