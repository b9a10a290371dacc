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
