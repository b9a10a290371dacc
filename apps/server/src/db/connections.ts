import { type Database, openDatabase } from "./database.ts";
import { openReadPool, type ReadPool } from "./read-pool.ts";

/**
 * The connections of a process that answers requests, apart by what they are for, so that none of these ever waits for
 * another, nor for what writes.
 */
export interface RequestConnections {
  /** Short reads, sent without waiting for one another. */
  readonly readPool: ReadPool;
  /** Key look-ups, and whether the database is there. */
  readonly vital: Database;
  /** Lists whose cost depends on what is asked for. */
  readonly filtered: Database;
  close(): Promise<void>;
}

/** One looks keys up while another says whether the database is there or tells the heartbeat. */
const VITAL_CONNECTIONS = 2;
/** Milliseconds: the statements on them take less than one. */
const VITAL_STATEMENT_TIMEOUT_MS = 5_000;
/** More keep more of PostgreSQL's processors busy with what a few ask for. */
export const FILTERED_CONNECTIONS = 3;

/**
 * @param filteredStatementTimeoutMs milliseconds after which PostgreSQL gives up a statement of a filtered list
 */
export function openRequestConnections(
  connectionString: string,
  filteredStatementTimeoutMs: number,
  onConnectionLost: (error: Error) => void,
): RequestConnections {
  const readPool = openReadPool({ connectionString });
  const vital = openDatabase({
    connectionString,
    maxConnections: VITAL_CONNECTIONS,
    statementTimeoutMs: VITAL_STATEMENT_TIMEOUT_MS,
    onConnectionLost,
  });
  const filtered = openDatabase({
    connectionString,
    maxConnections: FILTERED_CONNECTIONS,
    statementTimeoutMs: filteredStatementTimeoutMs,
    // One processor each, and no time spent on compiling what runs once.
    sessionOptions: "-c max_parallel_workers_per_gather=0 -c jit=off",
    onConnectionLost,
  });
  return {
    readPool,
    vital,
    filtered,
    close: async () => {
      await Promise.all([readPool.close(), vital.close(), filtered.close()]);
    },
  };
}
