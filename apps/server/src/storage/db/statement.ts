/** One complete SQL statement, with a name under which each connection prepares it once. */
export interface Statement {
  /** Unique in the program: `<noun>.<what>`. PostgreSQL keeps 63 characters of it. Empty: prepared for each run anew. */
  readonly name: string;
  readonly text: string;
}

/** The new names of statements whose prepared form became unusable by a change of the schema, by their first name. */
const laterNames = new Map<string, string>();

/** Returns the name under which a statement is prepared at present. */
export function preparedName({ name }: Statement): string {
  return laterNames.size === 0 ? name : (laterNames.get(name) ?? name);
}

/**
 * Makes every connection prepare a statement again, under a new name. PostgreSQL never again runs a prepared statement whose
 * result would have other columns, as that of `select *` after a column was added.
 * @param failedName the name that failed; nothing is done if another caller has already changed it
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
 * Calls a function with each statement that is created from now on. `statement` then throws the function's errors. For
 * tests, which reject statements that a distributed database cannot run.
 */
export function checkStatements(refuse: (named: Statement) => void): void {
  check = refuse;
}

/** Observes statements, in the asynchronous context of their caller. */
export interface StatementObserver {
  /**
   * Called when a statement is sent.
   * @param name the statement's name; its values are never passed
   * @returns a function that is called once: without an argument when the result has arrived, or with the error
   */
  statementSent(name: string): (error?: unknown) => void;
  /**
   * Called when a caller requests a connection of a pool.
   * @returns a function to call when the caller gets a connection or gives up; undefined: not observed
   */
  connectionAwaited(pool: string): (() => void) | undefined;
}
