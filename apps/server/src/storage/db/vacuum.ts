import { type Database, openDatabase, type QueryRunner } from "./database.ts";
import { statement } from "./statement.ts";

/** Tables that a mass of rides is written to, or deleted from. */
export const RIDE_TABLES = ["rides", "ride_counts", "list_counts", "stations"] as const;

/** Tables that feeds are written to. */
export const FLEET_TABLES = ["stations", "bikes", "list_counts"] as const;

/**
 * Updates the statistics of tables after many rows were written or deleted. Until the next autovacuum, which begins after a
 * minute at the earliest, lists would be planned for an empty table and read rows instead of their index. Never fails: the
 * service completes the rest.
 */
export async function careForTables(connectionString: string, tables: readonly string[]): Promise<void> {
  const vacuum = (own: Database) => vacuumTables(own, tables, { isLockAwaited: true });
  await withoutTimeout(connectionString, vacuum).catch(() => undefined);
}

/** A vacuum of a big table takes longer than any statement of a request may. */
export async function withoutTimeout(connectionString: string, work: (own: Database) => Promise<void>): Promise<void> {
  const own = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await work(own);
  } finally {
    await own.close();
  }
}

/** Lets the planner and index-only scans know of the rows of tables, and frees the dead ones. */
export async function vacuumTables(
  db: QueryRunner,
  tables: readonly string[],
  { isLockAwaited }: { readonly isLockAwaited: boolean },
): Promise<void> {
  const options = isLockAwaited ? "analyze" : "analyze, skip_locked";
  await db.query(statement("", `vacuum (${options}) ${tables.map(quoted).join(", ")}`));
}

function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
