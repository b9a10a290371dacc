/** The state of a periodic work in this process. */
export interface WorkStatus {
  /** The work's name in the log: "keeping partitions". */
  readonly work: string;
  readonly succeededRuns: number;
  readonly failedRuns: number;
  /** Time since the last successful run ended; undefined: there was none. */
  readonly successAgeMs: number | undefined;
  /** The duration of the latest completed run; undefined: there was none. */
  readonly lastRunMs: number | undefined;
  /** Whether it has gone without a success for longer than it may. */
  readonly standsStill: boolean;
  /** For how long a run has been under way without getting on, while this process ran: see hang-watch.ts. */
  readonly heldUpMs: number;
  /** For how long it may go without a success. */
  readonly maxSilenceMs: number;
}

/**
 * How long a work may go without a success, in addition to two of its intervals. Covers a restart or failover of the
 * database.
 */
const TOLERANCE_MS = 5 * 60_000;

/** Watches a work from its first run on. */
export class WorkWatch {
  readonly #work: string;
  readonly #monotonic: () => number;
  /** Undefined: it is not repeated. */
  #startedAt: number | undefined;
  #maxSilenceMs = Number.POSITIVE_INFINITY;
  #succeededAt: number | undefined;
  #lastRunMs: number | undefined;
  #succeededRuns = 0;
  #failedRuns = 0;
  #failures = 0;
  /** The runs under way, and for how long each has not got on. */
  readonly #runs = new Set<{ heldUpMs: number }>();

  constructor(work: string, monotonic: () => number) {
    this.#work = work;
    this.#monotonic = monotonic;
  }

  /**
   * From now on the work is expected to be done.
   * @param maxSilenceMs for how long it may go without a success
   */
  start(intervalMs: number, maxSilenceMs = 2 * intervalMs + TOLERANCE_MS): void {
    this.#startedAt = this.#monotonic();
    this.#maxSilenceMs = maxSilenceMs;
  }

  /** Stops expecting the work. */
  stop(): void {
    this.#startedAt = undefined;
  }

  /** A part of the run under way failed, and the others go on. */
  failed(): void {
    this.#failures++;
  }

  /** The run under way has got on: a part of it is done. */
  gotOn(): void {
    for (const run of this.#runs) run.heldUpMs = 0;
  }

  /** This process has run for a while. */
  passTime(ms: number): void {
    for (const run of this.#runs) run.heldUpMs += ms;
  }

  /** Does the work once. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const run = { heldUpMs: 0 };
    this.#runs.add(run);
    const [startedAt, failures] = [this.#monotonic(), this.#failures];
    let isDone = false;
    try {
      const result = await work();
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

  /** Undefined: it is not repeated. */
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
