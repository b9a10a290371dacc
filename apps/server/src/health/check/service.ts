import type { Queryable } from "../../storage/db/database.ts";
import { isDataError } from "../../storage/db/errors.ts";
import { type Breach, findBreach, listInvariants } from "./queries.ts";

/** What became of the check of one invariant. */
export interface InvariantCheck {
  readonly name: string;
  /** What must be true. */
  readonly meaning: string;
  /** A warning is to be looked at; the service works as well with it. */
  readonly severity: "error" | "warning";
  /** How many rows it does not hold for. */
  readonly broken: number;
  /** Some of them: ids, or numbers that differ. */
  readonly examples: readonly string[];
}

/**
 * Checks a system's rows against what must be true of them between any two transactions. Reads only, each invariant in
 * one statement of its own, so that it may run while the service works. Reads every row: on a large system it takes
 * minutes, and wants a connection without a time limit.
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

/** What cannot even be read is broken, and no reason to check nothing else. */
function describeUnreadable(error: unknown): Breach {
  if (!(error instanceof Error) || !isDataError(error)) throw error;
  return { broken: 1, examples: [`a value cannot be read: ${error.message}`] };
}
