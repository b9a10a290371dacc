/**
 * A question to the database that all who wait at the same time ask as one. Each gets an answer that was asked for after its
 * own call: whoever comes while one is under way waits for the next.
 */
export function askTogether<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let waiting: PromiseWithResolvers<Answer> | undefined;
  let isAsking = false;

  async function askWhileAwaited(): Promise<void> {
    while (waiting !== undefined) {
      const asked = waiting;
      // Later callers start a new request: this answer may be older than the data that they must see.
      waiting = undefined;
      await ask().then(asked.resolve, asked.reject);
    }
    isAsking = false;
  }
  return () => {
    waiting ??= Promise.withResolvers();
    const { promise, reject } = waiting;
    if (!isAsking) {
      isAsking = true;
      // Requests of the same pass of the event loop join.
      setImmediate(() => void askWhileAwaited().catch(reject));
    }
    return promise;
  };
}
