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

  /** Makes the next call of `runIfDue` do the work, also when called during the work: its data may be outdated. */
  makeDue(): void {
    this.#startedAt = Number.NEGATIVE_INFINITY;
  }
}
