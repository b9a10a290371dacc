/** Hears what is asked of the database, in the asynchronous context of whoever asks. */
export interface StatementObserver {
  /**
   * A statement is sent.
   * @param name never its values
   * @returns called once, when its result is there or with why it failed
   */
  statementSent(name: string): (error?: unknown) => void;
  /**
   * A connection of a pool is asked for.
   * @returns called once, when there is one or none was free in time; undefined: nobody asks to know
   */
  connectionAwaited(pool: string): (() => void) | undefined;
}
