import { type Database, openDatabase } from "./database.ts";
import { openReader, type Reader } from "./pipeline.ts";

/**
 * The connections of a process that answers requests, apart by what they are for, so that none of these ever waits for
 * another, nor for what writes.
 */
export interface RequestConnections {
  /** Short reads, sent without waiting for one another. */
  readonly reader: Reader;
  /** Key look-ups, and whether the database is there. */
  readonly vital: Database;
  /** Lists whose cost depends on what is asked for. */
  readonly filtered: Database;
  close(): Promise<void>;
}

/** One looks keys up while another says whether the database is there or tells the heartbeat. */
const VITAL_CONNECTIONS = 2;
/** Milliseconds: the statements on them take less than one. */
const VITAL_STATEMENT_TIMEOUT = 5_000;
/** More keep more of PostgreSQL's processors busy with what a few ask for. */
export const FILTERED_CONNECTIONS = 3;

/**
 * @param filteredStatementTimeout milliseconds after which PostgreSQL gives up a statement of a filtered list
 */
export function openRequestConnections(
  connectionString: string,
  filteredStatementTimeout: number,
  onConnectionLost: (error: Error) => void,
): RequestConnections {
  const reader = openReader({ connectionString });
  const vital = openDatabase({
    connectionString,
    maxConnections: VITAL_CONNECTIONS,
    statementTimeout: VITAL_STATEMENT_TIMEOUT,
    onConnectionLost,
  });
  const filtered = openDatabase({
    connectionString,
    maxConnections: FILTERED_CONNECTIONS,
    statementTimeout: filteredStatementTimeout,
    // One processor each, and no time spent on compiling what runs once.
    sessionOptions: "-c max_parallel_workers_per_gather=0 -c jit=off",
    onConnectionLost,
  });
  return {
    reader,
    vital,
    filtered,
    close: async () => {
      await Promise.all([reader.close(), vital.close(), filtered.close()]);
    },
  };
}
