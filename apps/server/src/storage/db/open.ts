import { type EmbeddedPostgresEvent, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { type Database, openDatabase } from "./database.ts";
import { isMigrated, migrate } from "./migrate/migrate.ts";
import type { StatementObserver } from "./statement-observer.ts";
import { careForTables } from "./vacuum.ts";

export interface OpenStoreOptions {
  /** Undefined: our own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly onEmbeddedEvent: (event: EmbeddedPostgresEvent) => void;
  readonly onConnectionLost: (error: Error) => void;
  readonly auditLog: AuditLogOwner;
  /** Reports the slow steps of migrating, for the log. */
  readonly onMigrating?: (message: string) => void;
  /** After it a statement is cancelled; 0 for never. */
  readonly statementTimeoutMs: number;
  readonly observer?: StatementObserver;
}

/** Runs statements as the superuser. Only our own PostgreSQL gives that. */
type AsSuperuser = (statements: string) => Promise<void>;

/** The functions that change the owner of the audit log in our own PostgreSQL. */
export interface AuditLogOwner {
  /** Gives the audit log to its own role, where that has not been done, or was undone for a migration. */
  protect(db: Database, asSuperuser: AsSuperuser): Promise<void>;
  /** Lets migrations change the audit log, until it is protected again. */
  lend(asSuperuser: AsSuperuser): Promise<void>;
}

/** The database, its schema up to date. `close` also closes our own PostgreSQL, which stops unless others use it. */
export interface Store {
  readonly db: Database;
  /** Names of the migrations that opening has applied. */
  readonly applied: readonly string[];
  close(): Promise<void>;
}

/** A PostgreSQL to connect to. `close` closes our own, which stops unless others use it. */
export interface Server {
  readonly connectionString: string;
  /** Undefined where the PostgreSQL is not our own. */
  readonly asSuperuser?: AsSuperuser;
  close(): Promise<void>;
}

/** Opens our own PostgreSQL where no other is configured. */
export async function openServer({
  databaseUrl,
  dataDir,
  onEmbeddedEvent,
}: Pick<OpenStoreOptions, "databaseUrl" | "dataDir" | "onEmbeddedEvent">): Promise<Server> {
  return databaseUrl === undefined
    ? openEmbeddedPostgres({ dataDir, log: onEmbeddedEvent })
    : { connectionString: databaseUrl, close: () => Promise.resolve() };
}

/** Opens the configured database, or our own, and migrates it. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const server = await openServer(options);
  const db = openDatabase({
    ...{ connectionString: server.connectionString, observer: options.observer, name: "general" },
    statementTimeoutMs: options.statementTimeoutMs,
    onConnectionLost: options.onConnectionLost,
  });
  const close = async () => {
    await db.close();
    await server.close();
  };
  try {
    const applied = (await isMigrated(db)) ? [] : await bringUpToDate(db, server, options);
    if (server.asSuperuser !== undefined) await options.auditLog.protect(db, server.asSuperuser);
    return { db, applied, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function bringUpToDate(
  db: Database,
  server: Server,
  { onMigrating, auditLog }: OpenStoreOptions,
): Promise<string[]> {
  if (server.asSuperuser !== undefined) await auditLog.lend(server.asSuperuser);
  const applied = await migrate(db, { ...(onMigrating && { report: onMigrating }) });
  // Rewriting a table clears its visibility map, which index-only scans need.
  if (applied.length > 0) await careForTables(db.connectionString, ["rides"]);
  return applied;
}
