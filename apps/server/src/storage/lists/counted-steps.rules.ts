/** A step of time and what was counted in it. */
interface CountedRow {
  /** The index of the step, from 1. */
  readonly step: number;
  /** Rows that were read for it. */
  readonly n: number;
  readonly oldest_at: Date;
}

interface CountedSteps<Row> {
  /** `row` is undefined where there was nothing, and null where the step was not counted, or only in part. */
  readonly steps: readonly { readonly from: string; readonly to: string; readonly row: Row | undefined | null }[];
  /** Older rows were not read; null: all were. */
  readonly countedFrom: string | null;
}

/**
 * Puts what was counted into steps. The statement has read the newest rows alone, one more than `limit` where there are
 * more: the step of the oldest of them lacks those before, and rows of the same instant.
 * @param bounds where each step begins, and where the last one ends
 */
export function countedSteps<Row extends CountedRow>(
  bounds: readonly Date[],
  rows: readonly Row[],
  limit: number,
): CountedSteps<Row> {
  const byStep = new Map(rows.map((row) => [row.step, row]));
  const isCut = rows.reduce((sum, { n }) => sum + n, 0) > limit;
  const oldest = isCut ? Math.min(...rows.map(({ oldest_at: at }) => at.getTime())) : -Infinity;
  const steps = bounds.slice(0, -1).map((from, index) => ({
    from: from.toISOString(),
    to: (bounds[index + 1] ?? from).toISOString(),
    row: from.getTime() <= oldest ? null : byStep.get(index + 1),
  }));
  return { steps, countedFrom: isCut ? new Date(oldest).toISOString() : null };
}
