import type { ActorContext } from "../command-context.ts";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import type { Signals } from "../startup/signals.ts";
import type { Output } from "./output.ts";

/** What every command gets: made once in main.ts. */
export interface CliContext {
  readonly config: Config;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who runs the command, for the audit log: `cli:` and the name of the account. */
  readonly actor: string;
  /** The system that `--system` names. */
  readonly system: string | undefined;
  readonly output: Output;
  readonly signals: Signals;
  /**
   * Opens the database (our own PostgreSQL when none is configured), brings its schema up to date, runs `work`
   * with it and the names of the migrations just applied, and closes everything again.
   */
  readonly withDatabase: <Result>(
    work: (db: Database, applied: readonly string[]) => Promise<Result>,
  ) => Promise<Result>;
  /** The system a command works on: the one that is named, or the only one there is (created when there is none). */
  readonly resolveSystem: (db: Database, named: string | undefined) => Promise<string>;
}

/** Opens the database and runs a command on the system that `--system` names, or on the only one. */
export function withSystem<Result>(
  { actor, clock, ids, system, withDatabase, resolveSystem }: CliContext,
  work: (context: ActorContext & { readonly db: Database }, systemId: string) => Promise<Result>,
): Promise<Result> {
  return withDatabase(async (db) => work({ db, clock, ids, actor }, await resolveSystem(db, system)));
}
