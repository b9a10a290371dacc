/* Two helpers for waiting: with a time limit (`within`), and together with other callers (`askTogether`). */

/** Resolves when the work is done, or after `ms` milliseconds while it goes on. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Shares a database query among concurrent callers. Each caller gets an answer whose query began after its call: a caller
 * during a query waits for the next one.
 */
export function askTogether<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let waiting: PromiseWithResolvers<Answer> | undefined;
  let isAsking = false;

  async function askWhileAwaited(): Promise<void> {
    while (waiting !== undefined) {
      const asked = waiting;
      // Later callers start a new query: this answer may be older than the data that they must see.
      waiting = undefined;
      try {
        asked.resolve(await ask());
      } catch (error) {
        asked.reject(error);
      }
    }
    isAsking = false;
  }
  return () => {
    waiting ??= Promise.withResolvers();
    const { promise } = waiting;
    if (!isAsking) {
      isAsking = true;
      // Callers in the same pass of the event loop share this query.
      setImmediate(() => void askWhileAwaited());
    }
    return promise;
  };
}
