import type { Ids } from "./ids.ts";
import type { Queryable, Transaction } from "./storage/db/database.ts";

/**
 * The dependencies of a command (docs/glossary.md#command-context). With an open transaction as `db` it joins that
 * transaction.
 */
export interface CommandContext {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /**
   * The inputs that an earlier transaction has decided, for calls that share a transaction. They are locked with the others
   * and left out of the decision.
   */
  readonly answered?: AnsweredIndexes;
}

/** The indexes of those of several calls or items that have been answered before: whatever is returned for them is ignored. */
export type AnsweredIndexes = Promise<ReadonlySet<number>>;

/** The context of commands that the audit log records. */
export interface ActorContext extends CommandContext {
  /** The actor: `cli:` and the account that runs the command, `server`, or the person who has signed in. */
  readonly actor: string;
}

/** A command inside its transaction: all of it happens in one system, at one time. */
export interface Command {
  readonly tx: Transaction;
  readonly systemId: string;
  readonly now: Date;
  readonly ids: Ids;
}
