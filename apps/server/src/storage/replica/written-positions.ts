import { askTogether } from "../background/ask-together.ts";
import { createPipelinedConnection } from "../db/pipelined-connection.ts";
import { findPrimarySettings, findWrittenPosition, updateToken, type WrittenPosition } from "./queries.ts";

/**
 * Asks the primary how far it has written. Whoever then reads from a replica that has replayed as much reads at least what
 * every commit has written that was acknowledged before it asked, by whichever process.
 */
export interface WrittenPositions {
  /** A position that the primary had after this call. Calls that wait at the same time share one statement. */
  current(): Promise<WrittenPosition>;
  close(): Promise<void>;
}

export interface WrittenPositionsOptions {
  readonly connectionString: string;
  /** A text that nobody has made before. */
  readonly newToken: () => string;
}

/** Reads wait for the statement, which takes some 50 µs. */
const STATEMENT_TIMEOUT_MS = 1_000;

/** Connects at the first call, and writes a new token each time it connects: it may have reached another server. */
export function openWrittenPositions({ connectionString, newToken }: WrittenPositionsOptions): WrittenPositions {
  const connection = createPipelinedConnection({
    connectionString,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    onConnect: async (query) => {
      const { isAsynchronous, isDistributed } = await findPrimarySettings({ query });
      if (isAsynchronous) throw new ReplicaUnusable(ASYNCHRONOUS);
      if (isDistributed) throw new ReplicaUnusable(DISTRIBUTED);
      await updateToken({ query }, newToken());
    },
  });
  return { current: askTogether(() => findWrittenPosition(connection)), close: () => connection.close() };
}

/** The primary is such that no replica of it can be read from. */
class ReplicaUnusable extends Error {
  override readonly name = "ReplicaUnusable";
}

const ASYNCHRONOUS =
  "synchronous_commit is off on the primary, so that what it has written says nothing about what it has acknowledged. Set it to on";
const DISTRIBUTED =
  "the database is distributed by Citus, whose rows lie on servers that DATABASE_REPLICA_URL does not name. Unset it";
