/**
 * Lets work be done one after the other, in the order in which it is asked for; work that fails lets the next begin.
 *
 * Each is awaited, not handed on, so that the stack of a failure tells who asked for it.
 */
export function createTurns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<void> | undefined;
  return async (work) => {
    const before = last;
    let leave = () => {};
    last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
