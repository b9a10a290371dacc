/**
 * Runs one piece of work at a time, in the order of the calls. The next piece begins even if one fails.
 *
 * Each piece is awaited here, not chained with `then`, so that the stack trace of a failure contains the caller.
 */
export function createMutex(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<void> | undefined;
  return async (work) => {
    const previous = last;
    let release = () => {};
    last = new Promise((resolve) => {
      release = resolve;
    });
    await previous;
    try {
      return await work();
    } finally {
      release();
    }
  };
}
