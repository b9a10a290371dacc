import { type EmbeddedPostgresEvent, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { type Database, openDatabase } from "./database.ts";
import { isMigrated, migrate } from "./migrate/migrate.ts";
import { checkServing, holdDuringOutages, type OutageGate } from "./outage-gate.ts";
import { openReadPool, type ReadPool } from "./read-pool.ts";
import type { StatementObserver } from "./statement.ts";
import { careForTables } from "./vacuum.ts";

/*
 * Opens a process's database, and migrates it (`openStore`). Opens separate connections for requests, by purpose
 * (`openRequestConnections`). "Our own PostgreSQL" is the embedded one, which this service runs in its data directory.
 */

/**
 * The connections of a process that answers requests, separated by purpose, so that no purpose waits for another one or for
 * writes.
 */
export interface RequestConnections {
  /** For short reads, on pipelined connections. */
  readonly readPool: ReadPool;
  /** For checks whether the database is reachable, and for the heartbeat. Its statements do not wait during an outage. */
  readonly vital: Database;
  /** For key look-ups. Uses the connections of `vital`, but waits during an outage. */
  readonly keys: Database;
  /** For lists whose cost depends on their filters. */
  readonly filtered: Database;
  /** Throws while requests fail because of the database. */
  readonly check: () => Promise<void>;
  close(): Promise<void>;
}

/** One connection looks keys up while the other one checks the database or sends the heartbeat. */
const VITAL_CONNECTIONS = 2;
/** Generous: the statements on these connections take less than a millisecond. */
const VITAL_STATEMENT_TIMEOUT_MS = 5_000;
/** Limits the connections for filtered reads. Too high: a few callers keep more of PostgreSQL's processors busy. */
export const FILTERED_CONNECTIONS = 3;
/** Limits each statement to one processor, without just-in-time compilation, which does not pay for a single execution. */
export const FILTERED_SESSION_OPTIONS = "-c max_parallel_workers_per_gather=0 -c jit=off";

interface RequestConnectionsOptions {
  readonly connectionString: string;
  /** Milliseconds after which PostgreSQL cancels a statement of a filtered list. */
  readonly filteredStatementTimeoutMs: number;
  readonly onConnectionLost: (error: Error) => void;
  readonly outages?: OutageGate | undefined;
  readonly observer?: StatementObserver | undefined;
}

/** Opens the connections of a process that answers requests. Each connects at its first statement. */
export function openRequestConnections(options: RequestConnectionsOptions): RequestConnections {
  const { connectionString, filteredStatementTimeoutMs, onConnectionLost, outages, observer } = options;
  const readPool = openReadPool({ connectionString, observer, ...(outages && { outages }) });
  const vital = openDatabase({
    connectionString,
    observer,
    name: "vital",
    maxConnections: VITAL_CONNECTIONS,
    statementTimeoutMs: VITAL_STATEMENT_TIMEOUT_MS,
    onConnectionLost,
  });
  const filtered = openDatabase({
    connectionString,
    observer,
    name: "filtered",
    maxConnections: FILTERED_CONNECTIONS,
    statementTimeoutMs: filteredStatementTimeoutMs,
    sessionOptions: FILTERED_SESSION_OPTIONS,
    onConnectionLost,
  });
  return {
    readPool,
    vital,
    keys: outages === undefined ? vital : holdDuringOutages(vital, outages),
    filtered: outages === undefined ? filtered : holdDuringOutages(filtered, outages),
    check: () => checkServing(vital, outages),
    close: async () => {
      await Promise.all([readPool.close(), vital.close(), filtered.close()]);
    },
  };
}

interface OpenStoreOptions {
  /** Undefined: our own PostgreSQL in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly onEmbeddedEvent: (event: EmbeddedPostgresEvent) => void;
  readonly onConnectionLost: (error: Error) => void;
  readonly auditLog: AuditLogOwner;
  /** Writes to the log why migrating waits. */
  readonly onMigrating?: (message: string) => void;
  /** Milliseconds after which PostgreSQL cancels a statement; 0: never. */
  readonly statementTimeoutMs: number;
  readonly observer?: StatementObserver;
}

/** Runs statements as the superuser. Possible only in our own PostgreSQL. */
type AsSuperuser = (statements: string) => Promise<void>;

/** The functions that change the owner of the audit log in our own PostgreSQL. */
export interface AuditLogOwner {
  /** Gives the audit log to its own role, unless that role owns it already. */
  protect(db: Database, asSuperuser: AsSuperuser): Promise<void>;
  /** Lets migrations change the audit log, until it is protected again. */
  lend(asSuperuser: AsSuperuser): Promise<void>;
}

/** The database with a migrated schema. `close` also closes our own PostgreSQL, which stops if no other process uses it. */
export interface Store {
  readonly db: Database;
  /** Names of the migrations that opening has applied. */
  readonly applied: readonly string[];
  /** Returns the reason if our own PostgreSQL has ended all connections because its disk is full; otherwise undefined. */
  findFullDisk(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A PostgreSQL to connect to. `close` closes our own PostgreSQL, which stops if no other process uses it. */
export interface Server {
  readonly connectionString: string;
  /** Undefined where the PostgreSQL is not our own. */
  readonly asSuperuser?: AsSuperuser;
  /** Undefined where the PostgreSQL is not our own. */
  readonly findFullDisk?: () => Promise<string | undefined>;
  /** The directory with its files; undefined where the PostgreSQL is not our own. */
  readonly dataDirectory?: string;
  close(): Promise<void>;
}

/** Returns the configured PostgreSQL, or opens our own if none is configured. */
export async function openServer({
  databaseUrl,
  dataDir,
  onEmbeddedEvent,
}: Pick<OpenStoreOptions, "databaseUrl" | "dataDir" | "onEmbeddedEvent">): Promise<Server> {
  return databaseUrl === undefined
    ? { ...(await openEmbeddedPostgres({ dataDir, log: onEmbeddedEvent })), dataDirectory: dataDir }
    : { connectionString: databaseUrl, close: () => Promise.resolve() };
}

/** Opens the configured database, or our own, and migrates it. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const server = await openServer(options);
  const db = openDatabase({
    connectionString: server.connectionString,
    observer: options.observer,
    name: "general",
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
    return { db, applied, findFullDisk: async () => server.findFullDisk?.(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Migrates the database. @returns the file names of the applied migrations */
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
