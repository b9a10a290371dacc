interface CountedSteps<Row> {
  /** `row` is undefined where there was nothing, and null where the step was not counted, or only in part. */
  readonly steps: readonly { readonly from: string; readonly to: string; readonly row: Row | undefined | null }[];
  /** Older rows were not read; null: all were. */
  readonly countedFrom: string | null;
}

/**
 * Returns how far back a statement has read that reads the newest rows alone, one more than `limit` where there are more;
 * null: it has read all.
 */
export function cutOf(rows: readonly { readonly n: number; readonly oldest_at: Date }[], limit: number): Date | null {
  if (rows.reduce((sum, { n }) => sum + n, 0) <= limit) return null;
  return new Date(Math.min(...rows.map(({ oldest_at: at }) => at.getTime())));
}

/**
 * Puts what was counted into steps.
 * @param bounds where each step begins, and where the last one ends
 * @param rows by the index of their step, from 1
 * @param cutAt how far back was read: that step lacks the rows before, and rows of the same instant; null: all was read
 */
export function countedSteps<Row extends { readonly step: number }>(
  bounds: readonly Date[],
  rows: readonly Row[],
  cutAt: Date | null,
): CountedSteps<Row> {
  const byStep = new Map(rows.map((row) => [row.step, row]));
  const oldest = cutAt?.getTime() ?? -Infinity;
  const steps = bounds.slice(0, -1).map((from, index) => ({
    from: from.toISOString(),
    to: (bounds[index + 1] ?? from).toISOString(),
    row: from.getTime() <= oldest ? null : byStep.get(index + 1),
  }));
  return { steps, countedFrom: cutAt?.toISOString() ?? null };
}
