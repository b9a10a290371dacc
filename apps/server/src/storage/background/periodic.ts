import type { WorkWatch } from "./work-watch.ts";

/** Work that a process repeats. Any number of processes may do the same. */
export interface PeriodicWork<Result = void> {
  /** Does the work once more, after the runs that are under way or wait. An error goes to the caller, not to `onError`. */
  runOnce(): Promise<Result>;
  /** Begins no more runs; resolves when the current one has ended. */
  close(): Promise<void>;
}

interface PeriodicOptions<Result> {
  readonly intervalMs: number;
  readonly work: () => Promise<Result>;
  /** A run that the timer began failed; the next one tries again. */
  readonly onError: (error: unknown) => void;
  /** Whether to begin with a run; otherwise the first one begins after an interval. */
  readonly immediately?: boolean;
  /** Records the successes, failures and progress of the runs. */
  readonly watch?: WorkWatch | undefined;
  /** Milliseconds that the work may go without a success. Default: computed from the interval (work-watch.ts). */
  readonly maxSilenceMs?: number;
}

/** Repeats work, one run at a time. While a run takes longer than the interval, no further runs queue up behind it. */
export function startPeriodic<Result>(options: PeriodicOptions<Result>): PeriodicWork<Result> {
  const { intervalMs, work, onError, immediately = false, watch, maxSilenceMs } = options;
  watch?.start(intervalMs, maxSilenceMs);
  const watched = watch === undefined ? work : () => watch.run(work);
  let last: Promise<unknown> = Promise.resolve();
  let pending = 0;
  const runOnce = (): Promise<Result> => {
    pending++;
    const run = last.then(watched).finally(() => pending--);
    last = run.catch(() => undefined);
    return run;
  };
  const tick = () => {
    if (pending === 0) runOnce().catch(onError);
  };
  const timer = setInterval(tick, intervalMs);
  if (immediately) tick();
  return {
    runOnce,
    async close() {
      clearInterval(timer);
      watch?.stop();
      await last;
    },
  };
}

interface SweeperOptions {
  readonly intervalMs: number;
  /** The most rows in one transaction. */
  readonly batchSize: number;
  /** Returns the ids of the systems to sweep. */
  readonly systems: () => Promise<readonly string[]>;
  /** Sweeps up to `limit` rows of a system. @returns how many, and whether more may be left */
  readonly sweep: (systemId: string, limit: number) => Promise<{ readonly swept: number; readonly isMore: boolean }>;
  /** Milliseconds of a run for one system. A system with more to sweep waits for the next run. Default: no limit. */
  readonly maxSystemMs?: number;
  /** @param systemId undefined: the systems could not be listed */
  readonly onError: (error: unknown, systemId?: string) => void;
  /** Records the successes, failures and progress of the sweeps. */
  readonly watch?: WorkWatch | undefined;
}

/** The dependencies that all sweeps share. */
export type SweeperSurroundings = Pick<SweeperOptions, "systems" | "onError" | "watch">;

/**
 * Sweeps every system in batches, again and again. A failure in one system does not keep the others from being swept.
 * @returns work whose runs give the number of rows swept
 */
export function startSweeper(options: SweeperOptions): PeriodicWork<number> {
  const { intervalMs, batchSize, systems, sweep, maxSystemMs = Number.POSITIVE_INFINITY, onError, watch } = options;
  let isClosed = false;
  const sweepSystem = async (systemId: string): Promise<number> => {
    let swept = 0;
    const endsAt = performance.now() + maxSystemMs;
    try {
      for (let isMore = true; isMore && !isClosed && performance.now() < endsAt;) {
        const batch = await sweep(systemId, batchSize);
        swept += batch.swept;
        watch?.gotOn();
        isMore = batch.isMore;
      }
    } catch (error) {
      onError(error, systemId);
    }
    return swept;
  };
  const work = async (): Promise<number> => {
    let swept = 0;
    for (const systemId of await systems()) swept += await sweepSystem(systemId);
    return swept;
  };
  const periodic = startPeriodic({ intervalMs, work, onError: (error) => onError(error), watch });
  return {
    runOnce: () => periodic.runOnce(),
    close() {
      isClosed = true;
      return periodic.close();
    },
  };
}

/** Calls `work` for each system in turn, also after a failure. @returns whether `work` returned true for any system */
type EachSystem = (work: (systemId: string) => Promise<boolean>) => Promise<boolean>;

interface SystemStepsOptions extends SweeperSurroundings {
  readonly intervalMs: number;
  /** Milliseconds that never run backwards. */
  readonly monotonic?: () => number;
  /** Does the next waiting step of a system. @returns false when no step was waiting */
  readonly next: (systemId: string, closed: AbortSignal) => Promise<boolean>;
  /** Does regular maintenance, such as removing old data. */
  readonly care: (eachSystem: EachSystem) => Promise<unknown>;
  /** Milliseconds between two runs of `care`. */
  readonly careIntervalMs: number;
}

/**
 * Does the waiting steps of all systems, one at a time, until none is left. Takes one step of each system in turn, so that a
 * system with many steps does not delay the others. `close` aborts the current step.
 */
export function startSystemSteps(options: SystemStepsOptions): PeriodicWork {
  const { intervalMs, monotonic = () => performance.now(), next, care, careIntervalMs } = options;
  const { systems, onError, watch } = options;
  const closed = new AbortController();
  const eachSystem: EachSystem = async (work) => {
    let isMore = false;
    for (const systemId of await systems()) {
      if (closed.signal.aborted) return false;
      try {
        isMore = (await work(systemId)) || isMore;
      } catch (error) {
        onError(error, systemId);
      }
      watch?.gotOn();
    }
    return isMore;
  };
  const careTask = new IntervalTask(careIntervalMs, async () => void (await care(eachSystem)), monotonic);
  const work = async () => {
    await careTask.runIfDue();
    while (await eachSystem((systemId) => next(systemId, closed.signal)));
  };
  const periodic = startPeriodic({ intervalMs, work, onError: (error) => onError(error), watch });
  return {
    runOnce: () => periodic.runOnce(),
    close() {
      closed.abort(new Error("The service is stopped."));
      return periodic.close();
    },
  };
}

/** Work that its owner offers to do again and again, and that is done at most once in an interval. */
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
