/**
 * Runs one piece of work at a time, in the order of the calls; work that fails lets the next begin.
 *
 * Each is awaited here rather than chained, so that the stack of a failure names the caller.
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
