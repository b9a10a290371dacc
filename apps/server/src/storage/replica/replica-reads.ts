import type { QueryRunner } from "../db/database.ts";
import { codeOf, sqlState } from "../db/errors.ts";
import type { ReadPool } from "../db/read-pool.ts";
import type { RunFiltered } from "../lists/read-context.ts";
import type { ReplicaConnection } from "./replica-connection.ts";
import type { Replica } from "./replica.ts";

/** The server that answered a read which may go to a replica, and the reason when it was not the replica. */
export type ReadOutcome = (typeof READ_OUTCOMES)[number];

export const READ_OUTCOMES = ["replica", "left_out", "behind", "failed"] as const;

export interface ReplicaReadsOptions {
  readonly replica: Replica;
  /** On the primary. */
  readonly readPool: ReadPool;
  /** On the primary, for reads that may take long. */
  readonly filtered: QueryRunner;
  readonly onRead: (outcome: ReadOutcome) => void;
}

/** Reads from a replica where it shows all that the primary has acknowledged, and otherwise from the primary. */
export function createReplicaReads(options: ReplicaReadsOptions): {
  readonly readPool: ReadPool;
  readonly runFiltered: RunFiltered;
} {
  const { replica, readPool, onRead } = options;

  const isCurrent = async (connection: ReplicaConnection): Promise<boolean> => {
    if (await replica.isCurrent(connection)) return true;
    onRead("behind");
    return false;
  };
  /** @throws the failure where the primary would fail alike */
  const noteFailure = (connection: ReplicaConnection, error: unknown): void => {
    // A statement that is too slow on the replica is too slow on the primary as well.
    if (codeOf(error) === sqlState.queryCanceled) throw error;
    connection.failed(error);
    onRead("failed");
  };

  const read: ReadPool["read"] = async <Row>(...sent: Parameters<ReadPool["read"]>) => {
    const connection = replica.findForQuickRead();
    if (connection === undefined) onRead("left_out");
    if (connection === undefined || !(await isCurrent(connection))) return readPool.read<Row>(...sent);
    try {
      const rows = await connection.query<Row>(...sent);
      onRead("replica");
      return rows;
    } catch (error) {
      noteFailure(connection, error);
      return readPool.read<Row>(...sent);
    }
  };

  const runFiltered: RunFiltered = async (work) => {
    const connection = replica.reserveForFilteredRead();
    if (connection === undefined) {
      onRead("left_out");
      return work(options.filtered);
    }
    try {
      if (await isCurrent(connection)) {
        const result = await tryOn(connection, work, (error) => noteFailure(connection, error));
        if (result !== undefined) {
          onRead("replica");
          return result.value;
        }
      }
    } finally {
      replica.release(connection);
    }
    return work(options.filtered);
  };
  return { readPool: { read, close: () => Promise.resolve() }, runFiltered };
}

/** Runs work on a connection. @returns undefined when a statement failed; other errors are thrown */
async function tryOn<Result>(
  connection: QueryRunner,
  work: (db: QueryRunner) => Promise<Result>,
  onFailed: (error: unknown) => void,
): Promise<{ readonly value: Result } | undefined> {
  const failures = new Set<unknown>();
  const query: QueryRunner["query"] = <Row>(...sent: Parameters<QueryRunner["query"]>) =>
    connection.query<Row>(...sent).catch((error: unknown) => {
      failures.add(error);
      throw error;
    });
  try {
    return { value: await work({ query }) };
  } catch (error) {
    if (!failures.has(error)) throw error;
    onFailed(error);
    return undefined;
  }
}
