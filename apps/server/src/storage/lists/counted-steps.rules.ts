/*
 * Makes charts over time, such as of requests or deliveries. A statement counts the charted rows and returns one row for
 * each step that has some. It counts only the newest rows if there are many, so the oldest steps may lack counts.
 */

/** A step of a chart. */
interface CountedStep<Row> {
  readonly from: string;
  readonly to: string;
  /** False: nothing in the step was counted, or only its newer part. Then `row` is undefined. */
  readonly isCounted: boolean;
  /** The counts; undefined if nothing was there to be counted. */
  readonly row: Row | undefined;
}

interface CountedSteps<Row> {
  readonly steps: readonly CountedStep<Row>[];
  /** The time from which on rows were counted, because older ones were not read; null: all rows were read. */
  readonly countedFrom: string | null;
}

/**
 * Returns the time back to which a statement has counted, when it counts only the newest `limit` + 1 rows; null: it has
 * counted all rows.
 * @param rows the counts (`n`), each with the time of the oldest row that it counts
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
  const steps = bounds.slice(0, -1).map((from, index) => {
    const isCounted = from.getTime() > oldest;
    return {
      from: from.toISOString(),
      to: (bounds[index + 1] ?? from).toISOString(),
      isCounted,
      row: isCounted ? byStep.get(index + 1) : undefined,
    };
  });
  return { steps, countedFrom: cutAt?.toISOString() ?? null };
}
