import type { Database, Transaction } from "../../src/storage/db/database.ts";
import { DatabaseUnavailable } from "../../src/storage/db/errors.ts";

/** A database as one process sees it, up to that process's end. */
export interface FragileDatabase extends Database {
  /** The next transaction is committed, but its answer gets lost. */
  loseNextAnswer(): void;
  /** From now on nothing that is asked has any effect: to the database, the process is dead. */
  die(): void;
}

/** What a dead process's statements give. */
const nothing: Transaction = {
  query: () => Promise.resolve([]),
  send: () => undefined,
  notify: () => undefined,
  transaction: async (work) => work(nothing),
  run: () => Promise.resolve(),
  copyIn: () => {
    throw new Error("a dead process copies nothing");
  },
  copyOut: () => {
    throw new Error("a dead process copies nothing");
  },
};

/** @param db closed by its owner */
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
