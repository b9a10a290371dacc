import { type Database, openDatabase, type QueryRunner } from "./database.ts";
import { statement } from "./statement.ts";

/** Tables that change when many rides are imported or deleted. */
export const RIDE_TABLES = ["rides", "ride_counts", "list_counts", "stations"] as const;

/** Tables that change when a feed is applied. */
export const FLEET_TABLES = ["stations", "bikes", "list_counts"] as const;

/**
 * Updates the statistics of tables after many rows were written or deleted. Until the next autovacuum, which may begin
 * a minute later or more, lists would be planned for an empty table and read rows instead of their index. Never fails:
 * if it does not succeed, the service does it later (table-care).
 */
export async function careForTables(connectionString: string, tables: readonly string[]): Promise<void> {
  const vacuum = (own: Database) => vacuumTables(own, tables, { isLockAwaited: true });
  await withoutTimeout(connectionString, vacuum).catch(() => undefined);
}

/** Runs `work` on a separate connection without time limits, for a vacuum of a big table. */
export async function withoutTimeout(connectionString: string, work: (own: Database) => Promise<void>): Promise<void> {
  const own = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await work(own);
  } finally {
    await own.close();
  }
}

/**
 * Updates the planner's statistics and the visibility map of tables, and frees dead rows.
 * @param isLockAwaited false: skips tables that another process has locked
 */
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
