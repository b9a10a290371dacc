import type { Queryable } from "../../storage/db/database.ts";
import { isDataError } from "../../storage/db/errors.ts";
import { type Breach, findBreach, listInvariants } from "./queries.ts";

/** The result of checking one invariant. */
export interface InvariantCheck {
  readonly name: string;
  /** The invariant, in words. */
  readonly meaning: string;
  /** `warning`: somebody should look, but the service works. */
  readonly severity: "error" | "warning";
  /** The number of rows that violate the invariant. */
  readonly broken: number;
  /** Examples: ids, or numbers that differ. */
  readonly examples: readonly string[];
}

/**
 * Checks the invariants of a system's rows. Only reads, with one statement for each invariant, so that it may run while
 * the service works. Reads every row: on a large system it takes minutes, and needs a connection without a statement
 * timeout.
 */
export async function checkInvariants(db: Queryable, systemId: string): Promise<InvariantCheck[]> {
  const checks: InvariantCheck[] = [];
  for (const invariant of listInvariants()) {
    const breach = await findBreach(db, systemId, invariant).catch(describeUnreadable);
    const { name, meaning, severity } = invariant;
    checks.push({ name, meaning, severity, ...breach });
  }
  return checks;
}

/** Reports data that cannot be read as a violation, so that the other invariants are still checked. */
function describeUnreadable(error: unknown): Breach {
  if (!(error instanceof Error) || !isDataError(error)) throw error;
  return { broken: 1, examples: [`a value cannot be read: ${error.message}`] };
}
