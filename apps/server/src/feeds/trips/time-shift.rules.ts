import type { DifferingRide } from "../../fleet/ride-import.ts";

/** Many rows have the ids of rides that are stored with other times, all moved alike. */
export interface TimeShift {
  /** Rows of which this is so. */
  readonly rows: number;
  /** By how many seconds most of the stored rides are later (negative: earlier). */
  readonly seconds: number;
  /** The import that most of the stored rides came with. */
  readonly import_id: string | null;
}

/** Collects rows whose ids belong to other rides, and tells when another time zone explains them. */
export interface ShiftCounter {
  add(ride: DifferingRide): void;
  /** Undefined: they differ in other ways. */
  result(): TimeShift | undefined;
}

const QUARTER = 15 * 60;
/** Seconds between the clocks of the two zones that are furthest apart. */
const GREATEST_SHIFT = 26 * 3600;
/** Rows that must be moved alike. One or two rides may differ by whole hours for other reasons. */
const LEAST_ROWS = 3;
/** Of ten rows that differ, this many. A ride over a change of clocks may not be moved like the others. */
const LEAST_OF_TEN = 9;

/**
 * Zones differ by whole quarters of an hour, and by one amount or two: in some weeks one of them has changed its clocks
 * and the other has not.
 */
export function createShiftCounter(): ShiftCounter {
  const shifts = new Map<number, number>();
  const imports = new Map<string, number>();
  let rows = 0;
  let moved = 0;
  return {
    add({ shiftSeconds, importId }) {
      rows++;
      if (shiftSeconds === null || shiftSeconds === 0 || shiftSeconds % QUARTER !== 0) return;
      if (Math.abs(shiftSeconds) > GREATEST_SHIFT) return;
      moved++;
      shifts.set(shiftSeconds, (shifts.get(shiftSeconds) ?? 0) + 1);
      if (importId !== null) imports.set(importId, (imports.get(importId) ?? 0) + 1);
    },
    result() {
      const seconds = mostFrequent(shifts);
      if (seconds === undefined || moved < LEAST_ROWS || moved * 10 < rows * LEAST_OF_TEN) return undefined;
      return { rows: moved, seconds, import_id: mostFrequent(imports) ?? null };
    },
  };
}

function mostFrequent<Value>(numbers: ReadonlyMap<Value, number>): Value | undefined {
  let best: Value | undefined;
  let most = 0;
  for (const [value, n] of numbers) {
    if (n <= most) continue;
    best = value;
    most = n;
  }
  return best;
}
