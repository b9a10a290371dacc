/** Milliseconds before failed work is run again. Too low: overloads a database that cannot be reached. */
const RETRY_AFTER_FAILURE_MS = 250;

/** The work of a coalescer, and for how many keys it may run at once. */
export interface CoalescerOptions {
  /** One run for a key; returns the milliseconds to pause before the next requested run for it. */
  readonly work: (key: string) => Promise<number>;
  /** A run failed. Another one follows after a pause. */
  readonly onError: (error: unknown, key: string) => void;
  /** Keys worked on at the same time; 1 by default. For one key there is never more than one run. */
  readonly concurrency?: number;
}

/** Combines requests for the same work: however often it is requested during a run, one more run follows. */
export class Coalescer {
  readonly #options: CoalescerOptions;
  readonly #requested = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #pausing = new Map<string, NodeJS.Timeout>();
  #isClosed = false;

  constructor(options: CoalescerOptions) {
    this.#options = options;
  }

  /** Requests a run that begins after now. @param key for example a system; left out where there is only one kind of work */
  request(key = ""): void {
    this.#requested.add(key);
    this.#begin();
  }

  /** Begins no more runs; resolves when the current ones have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#pausing.values()) clearTimeout(timer);
    await Promise.all(this.#running.values());
  }

  #begin(): void {
    if (this.#isClosed) return;
    const { concurrency = 1 } = this.#options;
    for (const key of this.#requested) {
      if (this.#running.size >= concurrency) return;
      if (this.#running.has(key) || this.#pausing.has(key)) continue;
      this.#requested.delete(key);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    const { work, onError } = this.#options;
    let pauseMs = RETRY_AFTER_FAILURE_MS;
    try {
      pauseMs = await work(key);
    } catch (error) {
      this.#requested.add(key);
      onError(error, key);
    }
    this.#running.delete(key);
    if (this.#isClosed) return;
    if (pauseMs > 0) {
      const resume = () => {
        this.#pausing.delete(key);
        this.#begin();
      };
      this.#pausing.set(key, setTimeout(resume, pauseMs));
    }
    this.#begin();
  }
}
