import type { Database, Transaction } from "../../src/storage/db/database.ts";
import { DatabaseUnavailable } from "../../src/storage/db/errors.ts";

/** A database as one process sees it, which can simulate the death of this process. */
export interface FragileDatabase extends Database {
  /** Commits the next transaction, but hides the acknowledgement from the caller. */
  loseNextAnswer(): void;
  /** From now on no statement has any effect, as if the process were dead. */
  die(): void;
}

/** The results of statements of a dead process. */
const nothing: Transaction = {
  query: () => Promise.resolve([]),
  send: () => undefined,
  notify: () => undefined,
  transaction: async (work) => work(nothing),
  run: () => Promise.resolve(),
  liftStatementTimeout: () => Promise.resolve(),
  copyIn: () => {
    throw new Error("a dead process copies nothing");
  },
  copyOut: () => {
    throw new Error("a dead process copies nothing");
  },
};

/** Wraps a database. @param db a database that its owner closes */
export function createFragileDatabase(db: Database): FragileDatabase {
  let alive = true;
  let losing = false;
  return {
    connectionString: db.connectionString,
    usage: db.usage,
    query: (statement, values) => (alive ? db : nothing).query(statement, values),
    async transaction(work) {
      const result = await (alive ? db : nothing).transaction(work);
      if (!losing) return result;
      losing = false;
      throw new DatabaseUnavailable("the answer of the commit was lost");
    },
    loseNextAnswer: () => void (losing = true),
    die: () => void (alive = false),
    close: () => Promise.resolve(),
  };
}
