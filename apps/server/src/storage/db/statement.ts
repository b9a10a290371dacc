/** One SQL statement of ours: whole, and named so that each connection prepares it once. */
export interface Statement {
  /** Unique in the program: `<noun>.<what>`. PostgreSQL keeps 63 characters of it. */
  readonly name: string;
  readonly text: string;
}

/** Names under which statements are prepared since a change of the schema made the earlier ones unusable. */
const laterNames = new Map<string, string>();

/** Returns the name under which a statement is prepared at present. */
export function preparedName({ name }: Statement): string {
  return laterNames.size === 0 ? name : (laterNames.get(name) ?? name);
}

/**
 * Has a statement prepared anew, on every connection, under another name. PostgreSQL refuses to run a prepared statement
 * for ever once its result would have other columns, as that of `select *` does after a column was added.
 * @param failedName the name that failed: others may have noticed before
 */
export function prepareAgain({ name }: Statement, failedName: string): void {
  if (preparedName({ name, text: "" }) !== failedName) return;
  const generation = Number(/#(\d+)$/.exec(failedName)?.[1] ?? 1);
  laterNames.set(name, `${name}#${generation + 1}`);
}

let check: ((named: Statement) => void) | undefined;

/** Names a SQL statement. The values go in as `$1`, `$2`, … and are never put into the text. */
export function statement(name: string, text: string): Statement {
  const named = { name, text };
  check?.(named);
  return named;
}

/**
 * Calls a function with each statement that is made from now on; its errors reach the maker. For tests, which reject
 * statements that a distributed database cannot run.
 */
export function checkStatements(refuse: (named: Statement) => void): void {
  check = refuse;
}

/** Observes statements, in the asynchronous context of their caller. */
export interface StatementObserver {
  /**
   * A statement is sent.
   * @param name never its values
   * @returns called once, when its result is there or with why it failed
   */
  statementSent(name: string): (error?: unknown) => void;
  /**
   * Called when a caller requests a connection of a pool.
   * @returns a function to call when there is one or none was free in time; undefined: not observed
   */
  connectionAwaited(pool: string): (() => void) | undefined;
}
