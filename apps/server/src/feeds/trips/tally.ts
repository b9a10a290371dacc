import type { PastRidesWritten } from "../../fleet/ride-import.ts";
import type { RefusedFile, TripImportResult } from "./order.ts";
import type { RejectReason, WarningReason } from "./problems.ts";
import type { StagedFile } from "./stage.ts";
import { createShiftCounter } from "./time-shift.ts";

/** What adds up while an import runs. */
export interface Tally {
  refuse(file: RefusedFile): void;
  warn(reason: WarningReason): void;
  /** A file that was read and whose rides will be written. */
  addFile(file: StagedFile): void;
  addStations(made: number): void;
  addBatch(written: PastRidesWritten): void;
  /** @param id what the import is recorded as */
  result(id: string | null, report: string | null): TripImportResult;
}

export function createTally(): Tally {
  const reasons = new Map<RejectReason, number>();
  const warnings = new Map<WarningReason, number>();
  const refused: RefusedFile[] = [];
  const shifts = createShiftCounter();
  let rows = 0;
  let created = 0;
  let unchanged = 0;
  let stations = 0;
  let first: number | undefined;
  let last: number | undefined;
  const instant = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return {
    refuse: (file) => void refused.push(file),
    warn: (reason) => addUp(warnings, reason, 1),
    addFile(file) {
      rows += file.rows;
      for (const [reason, n] of file.rejected) addUp(reasons, reason, n);
      if (file.starts === null) return;
      first = Math.min(first ?? Infinity, file.starts.first);
      last = Math.max(last ?? -Infinity, file.starts.last);
    },
    addStations(made) {
      stations += made;
    },
    addBatch(written) {
      created += written.created;
      unchanged += written.unchanged;
      addUp(reasons, "duplicate_id", written.differing.length);
      for (const ride of written.differing) shifts.add(ride);
    },
    result: (id, report) => ({
      id,
      rows,
      created,
      unchanged,
      rejected: [...reasons.values()].reduce((sum, n) => sum + n, 0),
      reasons: Object.fromEntries(reasons),
      warnings: Object.fromEntries(warnings),
      stations_created: stations,
      refused,
      report,
      first: instant(first),
      last: instant(last),
      time_shift: shifts.result() ?? null,
    }),
  };
}

function addUp<Key>(sums: Map<Key, number>, key: Key, n: number): void {
  if (n > 0) sums.set(key, (sums.get(key) ?? 0) + n);
}
