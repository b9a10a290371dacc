import { type Database, openDatabase } from "./database.ts";
import { checkServing, holdDuringOutages, type OutageGate } from "./outage-gate.ts";
import { openReadPool, type ReadPool } from "./read-pool.ts";
import type { StatementObserver } from "./statement-observer.ts";

/**
 * The connections of a process that answers requests, separated by purpose, so that none of them waits for another, nor
 * for writes.
 */
export interface RequestConnections {
  /** Short reads, pipelined. */
  readonly readPool: ReadPool;
  /** Whether the database is there, and the heartbeat: they never wait for it. */
  readonly vital: Database;
  /** Key look-ups, on the connections of `vital`. */
  readonly keys: Database;
  /** Lists whose cost depends on their filters. */
  readonly filtered: Database;
  /** Fails while requests fail because of the database. */
  readonly check: () => Promise<void>;
  close(): Promise<void>;
}

/** One looks keys up while another checks the database or sends the heartbeat. */
const VITAL_CONNECTIONS = 2;
/** The statements on them take less than a millisecond. */
const VITAL_STATEMENT_TIMEOUT_MS = 5_000;
/** Limits the connections for filtered reads. Too high: a few callers keep more of PostgreSQL's processors busy. */
export const FILTERED_CONNECTIONS = 3;
/** One processor each, and no just-in-time compilation for statements that run once. */
export const FILTERED_SESSION_OPTIONS = "-c max_parallel_workers_per_gather=0 -c jit=off";

export interface RequestConnectionsOptions {
  readonly connectionString: string;
  /** After it PostgreSQL cancels a statement of a filtered list. */
  readonly filteredStatementTimeoutMs: number;
  readonly onConnectionLost: (error: Error) => void;
  readonly outages?: OutageGate | undefined;
  readonly observer?: StatementObserver | undefined;
}

export function openRequestConnections(options: RequestConnectionsOptions): RequestConnections {
  const { connectionString, filteredStatementTimeoutMs, onConnectionLost, outages, observer } = options;
  const readPool = openReadPool({ connectionString, observer, ...(outages && { outages }) });
  const vital = openDatabase({
    ...{ connectionString, observer, name: "vital" },
    maxConnections: VITAL_CONNECTIONS,
    statementTimeoutMs: VITAL_STATEMENT_TIMEOUT_MS,
    onConnectionLost,
  });
  const filtered = openDatabase({
    ...{ connectionString, observer, name: "filtered" },
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
