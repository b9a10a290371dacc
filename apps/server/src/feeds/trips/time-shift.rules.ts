import type { DifferingRide } from "../../city/fleet/ride-import.ts";

/** Many rows have the ids of rides that are stored with other times, all moved alike. */
export interface TimeShift {
  /** Rows of which this is so. */
  readonly rows: number;
  /** Seconds by which most of the stored rides are later (negative: earlier). */
  readonly seconds: number;
  /** The import that most of the stored rides came with. */
  readonly import_id: string | null;
}

const QUARTER_HOUR_SECONDS = 15 * 60;
/** Seconds between the clocks of the two zones that are furthest apart. */
const MAX_SHIFT_SECONDS = 26 * 3600;
/** Rows that must be moved alike. One or two rides may differ by whole hours for other reasons. */
const MIN_ROWS = 3;
/** Of ten rows that differ, at least this many must agree. A ride over a change of clocks may be shifted differently. */
const MIN_OF_TEN_ROWS = 9;

/**
 * Recognises rows that were imported before with another time zone: stored rides with their ids, moved by whole quarters of
 * an hour. Two zones differ by one amount or two, because they change their clocks in different weeks.
 */
export function createShiftCounter() {
  const shifts = new Map<number, number>();
  const imports = new Map<string, number>();
  let rows = 0;
  let moved = 0;
  return {
    add({ shiftSeconds, importId }: DifferingRide): void {
      rows++;
      if (shiftSeconds === null || shiftSeconds === 0 || shiftSeconds % QUARTER_HOUR_SECONDS !== 0) return;
      if (Math.abs(shiftSeconds) > MAX_SHIFT_SECONDS) return;
      moved++;
      shifts.set(shiftSeconds, (shifts.get(shiftSeconds) ?? 0) + 1);
      if (importId !== null) imports.set(importId, (imports.get(importId) ?? 0) + 1);
    },
    /** Undefined: another time zone does not explain the differences. */
    result(): TimeShift | undefined {
      const seconds = mostFrequent(shifts);
      if (seconds === undefined || moved < MIN_ROWS || moved * 10 < rows * MIN_OF_TEN_ROWS) return undefined;
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
