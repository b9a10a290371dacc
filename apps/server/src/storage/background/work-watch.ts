/** The state of one piece of periodic background work in this process. */
export interface WorkStatus {
  /** The work's name in the log: "keeping partitions". */
  readonly work: string;
  readonly succeededRuns: number;
  readonly failedRuns: number;
  /** Time since the last successful run ended; undefined: there was none. */
  readonly successAgeMs: number | undefined;
  /** The duration of the latest completed run; undefined: there was none. */
  readonly lastRunMs: number | undefined;
  /** Whether the latest success, or the start of the repetition if there was none, is longer ago than `maxSilenceMs`. */
  readonly standsStill: boolean;
  /** For how long the current run has made no progress. Counts only time in which this process ran: see hang-watch.ts. */
  readonly heldUpMs: number;
  /** For how long the work may go without a success. */
  readonly maxSilenceMs: number;
}

/**
 * How long work may go without a success, in addition to two of its intervals. Covers a restart or failover of the
 * database.
 */
const TOLERANCE_MS = 5 * 60_000;

/** Records how the runs of one piece of background work go: successes, failures, durations and progress. */
export class WorkWatch {
  readonly #work: string;
  readonly #monotonic: () => number;
  /** When the work began to be repeated; undefined: it is not repeated. */
  #startedAt: number | undefined;
  #maxSilenceMs = Number.POSITIVE_INFINITY;
  #succeededAt: number | undefined;
  #lastRunMs: number | undefined;
  #succeededRuns = 0;
  #failedRuns = 0;
  /** Failed parts of all runs. A run during which the number grows has failed. */
  #failures = 0;
  /** The current runs, and for how long each has made no progress. */
  readonly #runs = new Set<{ heldUpMs: number }>();

  constructor(work: string, monotonic: () => number) {
    this.#work = work;
    this.#monotonic = monotonic;
  }

  /**
   * Expects that the work is repeated from now on.
   * @param maxSilenceMs for how long the work may go without a success
   */
  start(intervalMs: number, maxSilenceMs = 2 * intervalMs + TOLERANCE_MS): void {
    this.#startedAt = this.#monotonic();
    this.#maxSilenceMs = maxSilenceMs;
  }

  /** Stops expecting the work. */
  stop(): void {
    this.#startedAt = undefined;
  }

  /** Records that a part of a current run failed, so that the run counts as failed. The other parts go on. */
  failed(): void {
    this.#failures++;
  }

  /**
   * Records progress: a part of a run is done. Counts for all current runs. Work that may have several at once uses the
   * function that its run gets.
   */
  gotOn(): void {
    for (const run of this.#runs) run.heldUpMs = 0;
  }

  /** Adds time in which this process has run. */
  passTime(ms: number): void {
    for (const run of this.#runs) run.heldUpMs += ms;
  }

  /** Does the work once and records the result. @param work gets a function that records progress of this run alone */
  async run<Result>(work: (gotOn: () => void) => Promise<Result>): Promise<Result> {
    const run = { heldUpMs: 0 };
    this.#runs.add(run);
    const [startedAt, failures] = [this.#monotonic(), this.#failures];
    let isDone = false;
    try {
      const result = await work(() => void (run.heldUpMs = 0));
      isDone = this.#failures === failures;
      return result;
    } finally {
      this.#runs.delete(run);
      const now = this.#monotonic();
      this.#lastRunMs = now - startedAt;
      if (isDone) {
        this.#succeededRuns++;
        this.#succeededAt = now;
      } else this.#failedRuns++;
    }
  }

  /** Returns the state; undefined: the work is not repeated. */
  status(): WorkStatus | undefined {
    if (this.#startedAt === undefined) return undefined;
    const now = this.#monotonic();
    return {
      work: this.#work,
      succeededRuns: this.#succeededRuns,
      failedRuns: this.#failedRuns,
      successAgeMs: this.#succeededAt === undefined ? undefined : now - this.#succeededAt,
      lastRunMs: this.#lastRunMs,
      standsStill: now - Math.max(this.#startedAt, this.#succeededAt ?? 0) > this.#maxSilenceMs,
      heldUpMs: Math.max(0, ...[...this.#runs].map((run) => run.heldUpMs)),
      maxSilenceMs: this.#maxSilenceMs,
    };
  }
}
