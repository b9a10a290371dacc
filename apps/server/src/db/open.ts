import { type EmbeddedPostgresEvent, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { type Database, openDatabase } from "./database.ts";
import { migrate } from "./migrate.ts";
import { statement } from "./statement.ts";

export interface OpenStoreOptions {
  /** Undefined: our own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly onEmbeddedEvent: (event: EmbeddedPostgresEvent) => void;
  readonly onConnectionLost: (error: Error) => void;
  /** Milliseconds after which a statement is given up; 0 for never. */
  readonly statementTimeoutMs: number;
}

/** The database, its schema up to date. `close` also leaves (and where nobody else uses it, stops) our own PostgreSQL. */
export interface Store {
  readonly db: Database;
  /** Names of the migrations that opening has applied. */
  readonly applied: readonly string[];
  close(): Promise<void>;
}

/** Opens the configured database, or our own, and migrates it. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const own =
    options.databaseUrl === undefined
      ? await openEmbeddedPostgres({ dataDir: options.dataDir, log: options.onEmbeddedEvent })
      : undefined;
  const db = openDatabase({
    connectionString: own?.connectionString ?? options.databaseUrl ?? "",
    statementTimeoutMs: options.statementTimeoutMs,
    onConnectionLost: options.onConnectionLost,
  });
  const close = async () => {
    await db.close();
    await own?.close();
  };
  try {
    return { db, applied: await migrateWithoutTimeout(db, options), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A migration of a large table takes longer than any request may. */
async function migrateWithoutTimeout(db: Database, options: OpenStoreOptions): Promise<string[]> {
  const patient = openDatabase({
    connectionString: db.connectionString,
    statementTimeoutMs: 0,
    maxConnections: 1,
    onConnectionLost: options.onConnectionLost,
  });
  try {
    const applied = await migrate(patient);
    // Of a table that a migration has rewritten PostgreSQL no longer knows which rows everybody sees, and reads the
    // rows where the index alone would do, until a sweep that nothing else would call for soon.
    if (applied.length > 0) await patient.query(statement("", "vacuum (analyze) rides"));
    return applied;
  } finally {
    await patient.close();
  }
}
