import type { Queryable } from "../../storage/db/database.ts";
import { isOfValues } from "../../storage/set-aside/units.ts";
import { type ResultRow, updateSetAside } from "../queue/result-queries.ts";
import { SET_ASIDE } from "../rules/retry-policy.ts";

interface WriteResultsOptions {
  readonly db: Queryable;
  readonly systemId: string;
  readonly clock: () => number;
  readonly onSetAside: (deliveryId: string, error: unknown) => void;
}

/**
 * Writes results together; where a value among them cannot be stored, half of them at a time until it is known which. Its delivery is set
 * aside, so that it keeps no other result from being written.
 * @returns the results whose deliveries were set aside
 */
export async function writeResults(
  options: WriteResultsOptions,
  results: readonly ResultRow[],
  write: (results: readonly ResultRow[]) => Promise<unknown>,
): Promise<ResultRow[]> {
  try {
    await write(results);
    return [];
  } catch (error) {
    if (!isOfValues(error)) throw error;
    const [result] = results;
    if (results.length === 1 && result !== undefined) {
      await updateSetAside(options.db, options.systemId, result, SET_ASIDE, new Date(options.clock()));
      options.onSetAside(result.delivery_id, error);
      return [result];
    }
    const half = Math.ceil(results.length / 2);
    const before = await writeResults(options, results.slice(0, half), write);
    return [...before, ...(await writeResults(options, results.slice(half), write))];
  }
}
