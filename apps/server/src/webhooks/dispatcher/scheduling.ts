/** Milliseconds before work that failed is run again. Lower hammers a database that cannot be reached. */
const RETRY_AFTER_FAILURE_MS = 250;

/** Runs work one run at a time: however often it is requested during a run, one more run follows. */
export class Coalescer {
  readonly #work: () => Promise<number>;
  readonly #onError: (error: unknown) => void;
  #isRequested = false;
  #isClosed = false;
  #running: Promise<void> | undefined;
  #pausing: NodeJS.Timeout | undefined;

  /** @param work one run; returns the milliseconds to pause before the next requested run */
  constructor(work: () => Promise<number>, onError: (error: unknown) => void) {
    this.#work = work;
    this.#onError = onError;
  }

  request(): void {
    this.#isRequested = true;
    this.#begin();
  }

  /** Begins no more runs; resolves when the current one has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pausing);
    await this.#running;
  }

  #begin(): void {
    const isBusy = this.#running !== undefined || this.#pausing !== undefined;
    if (!this.#isRequested || this.#isClosed || isBusy) return;
    this.#isRequested = false;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    let pauseMs = RETRY_AFTER_FAILURE_MS;
    try {
      pauseMs = await this.#work();
    } catch (error) {
      this.#isRequested = true;
      this.#onError(error);
    }
    this.#running = undefined;
    if (this.#isClosed) return;
    if (pauseMs === 0) this.#begin();
    else {
      this.#pausing = setTimeout(() => {
        this.#pausing = undefined;
        this.#begin();
      }, pauseMs);
    }
  }
}

/** Work that is done when its owner comes by, but not more often than its interval allows. */
export class IntervalTask {
  readonly #intervalMs: number;
  readonly #work: () => Promise<void>;
  readonly #monotonic: () => number;
  #startedAt = Number.NEGATIVE_INFINITY;

  /** @param intervalMs from one start to the next, unless the work failed */
  constructor(intervalMs: number, work: () => Promise<void>, monotonic: () => number) {
    this.#intervalMs = intervalMs;
    this.#work = work;
    this.#monotonic = monotonic;
  }

  /** @returns whether the work was done */
  async runIfDue(): Promise<boolean> {
    if (this.#monotonic() - this.#startedAt < this.#intervalMs) return false;
    this.#startedAt = this.#monotonic();
    try {
      await this.#work();
      return true;
    } catch (error) {
      this.makeDue();
      throw error;
    }
  }

  /** Lets the next call of `runIfDue` do the work, also when called during the work: what it has read may be outdated. */
  makeDue(): void {
    this.#startedAt = Number.NEGATIVE_INFINITY;
  }
}
