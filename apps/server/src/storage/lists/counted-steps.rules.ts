/** The steps of a chart over time, each with the row that counts what happened in it. */
interface CountedSteps<Row> {
  /** `row` is undefined if the step has no rows, and null if the step was not counted, or only in part. */
  readonly steps: readonly { readonly from: string; readonly to: string; readonly row: Row | undefined | null }[];
  /** The time from which on rows were counted, because older ones were not read; null: all rows were read. */
  readonly countedFrom: string | null;
}

/**
 * Returns the time back to which a statement has counted rows, when it reads only the newest `limit` + 1 rows; null: it has
 * counted all rows.
 */
export function cutOf(rows: readonly { readonly n: number; readonly oldest_at: Date }[], limit: number): Date | null {
  if (rows.reduce((sum, { n }) => sum + n, 0) <= limit) return null;
  return new Date(Math.min(...rows.map(({ oldest_at: at }) => at.getTime())));
}

/**
 * Makes the steps of a chart over time from counted rows.
 * @param bounds where each step begins, and where the last one ends
 * @param rows by the index of their step, from 1
 * @param cutAt the time back to which rows were counted; its step lacks older rows, and perhaps rows of the same instant.
 * Null: all rows were counted
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
