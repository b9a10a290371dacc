/** Work done a turn at a time: however often it is asked for while a turn runs, one more turn follows. */
export interface Turns {
  ask(): void;
  /** Begins no more turns; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/** Milliseconds before work that failed is tried again. Lower hammers a database that is away. */
const AFTER_FAILURE = 250;

/** @param work one turn; gives the milliseconds to rest before the next one that was asked for */
export function createTurns(work: () => Promise<number>, onError: (error: unknown) => void): Turns {
  let asked = false;
  let closed = false;
  let running: Promise<void> | undefined;
  let resting: NodeJS.Timeout | undefined;

  const turn = async () => {
    let rest = AFTER_FAILURE;
    try {
      rest = await work();
    } catch (error) {
      asked = true;
      onError(error);
    }
    running = undefined;
    if (closed) return;
    if (rest === 0) begin();
    else
      resting = setTimeout(() => {
        resting = undefined;
        begin();
      }, rest);
  };
  const begin = () => {
    if (!asked || closed || running !== undefined || resting !== undefined) return;
    asked = false;
    running = turn();
  };
  return {
    ask() {
      asked = true;
      begin();
    },
    async close() {
      closed = true;
      clearTimeout(resting);
      await running;
    },
  };
}

/** Work that is done when it is passed by, but no oftener than its interval says. */
export interface Interval {
  /** @returns whether it was done */
  pass(): Promise<boolean>;
  /** Lets the next pass do it. Also while it is under way: what it has read by then may be too old. */
  hurry(): void;
}

/** @param milliseconds from one beginning to the next, unless it failed */
export function createInterval(milliseconds: number, work: () => Promise<void>, monotonic: () => number): Interval {
  let begunAt = Number.NEGATIVE_INFINITY;
  return {
    async pass() {
      if (monotonic() - begunAt < milliseconds) return false;
      begunAt = monotonic();
      try {
        await work();
        return true;
      } catch (error) {
        begunAt = Number.NEGATIVE_INFINITY;
        throw error;
      }
    },
    hurry() {
      begunAt = Number.NEGATIVE_INFINITY;
    },
  };
}
