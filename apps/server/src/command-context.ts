import type { Ids } from "./ids.ts";
import type { Queryable, Transaction } from "./storage/db/database.ts";

/**
 * The dependencies of a command (docs/glossary.md#command-context). If `db` is an open transaction, the command joins that
 * transaction.
 */
export interface CommandContext {
  readonly db: Queryable;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /**
   * For calls that share a transaction: which of them repeat an earlier call (its idempotency key), and so get its stored
   * answer. Their inputs are locked like the others, but nothing is decided for them.
   */
  readonly answered?: AnsweredIndexes;
}

/** The indexes of calls or items that were answered before. The outcomes that are returned for them are ignored. */
export type AnsweredIndexes = Promise<ReadonlySet<number>>;

/** The context of commands that the audit log records. */
export interface ActorContext extends CommandContext {
  /** The actor, as `Act` of the audit log describes it: `server`, `person:` and a person's id, … */
  readonly actor: string;
}

/** A command inside its transaction. All its changes are in one system and have the same time. */
export interface Command {
  readonly tx: Transaction;
  readonly systemId: string;
  readonly now: Date;
  readonly ids: Ids;
}
