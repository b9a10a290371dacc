import { type WorkStatus, WorkWatch } from "../../storage/background/work-watch.ts";
import { codeOf, isDiskFull, isUnavailable, sqlState } from "../../storage/db/errors.ts";

/* Logs lasting failures, such as an unreachable database, once a minute instead of each time. */

/** The part of pino's logger that is used here. */
interface ConditionLog {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface ConditionsOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  readonly log: ConditionLog;
}

/** Lasting failures. Each is logged at once, then once a minute with a count, and when it ends. */
export interface Conditions {
  /** Returns the reporter for recurring work. @param work its name, to fit in a sentence: "numbering events" */
  of(work: string, options?: WorkOptions): WorkCondition;
  /** Tells whether a condition is ongoing. */
  isOngoing(name: string): boolean;
  /** Returns the status of recurring work. */
  works: () => readonly WorkStatus[];
  /**
   * Adds time in which this process has run. Running work counts it as time without progress, until it reports progress.
   * Time in which the process was frozen is not added.
   */
  passTime(ms: number): void;
  /** Logs due lines and ends conditions that are over. Called every few seconds. */
  check(): void;
}

export interface WorkOptions {
  /**
   * Time after the last failure when the work counts as recovered if nobody calls `succeeded`. It exceeds the pause
   * between two attempts. Ignored for causes that stop other work too, such as a full disk. `Infinity` when every
   * success is reported.
   */
  readonly quietMs?: number;
  /** The level of the log lines. Default: `error`. */
  readonly level?: "warn" | "error";
  /** Fields added to every line, such as the source of a feed. */
  readonly detail?: object;
}

/** Reports the outcomes of one kind of work. */
export interface WorkCondition {
  /** @param detail added to the log line, if this failure gets one */
  readonly failed: (error: unknown, detail?: object) => void;
  readonly succeeded: () => void;
  /** For repeated work: reports its runs. A failure reported above belongs to the current run. */
  readonly watch: WorkWatch;
}

/**
 * Interval between two log lines about one condition. Too low: fills the disk. Too high: the end of a log does not show
 * the condition.
 */
const REPEAT_INTERVAL_MS = 60_000;
/** The default of `quietMs`: most work is retried within seconds. */
const DEFAULT_QUIET_MS = 15_000;

/**
 * Keeps the log readable during a lasting failure: while the database is unreachable, every work fails several times a
 * second. A known cause, such as a full disk, is one condition however many works it stops; an unknown cause is a
 * condition of its work, and its stack is logged once.
 */
export function createConditions({ monotonic, log }: ConditionsOptions): Conditions {
  const conditions = new Map<string, Condition>();
  const watches = new Map<string, WorkWatch>();
  const watchOf = (work: string): WorkWatch => {
    const watch = watches.get(work) ?? new WorkWatch(work, monotonic);
    watches.set(work, watch);
    return watch;
  };
  /** Ends a condition if its work has recovered. @returns whether it has ended */
  const endIfRecovered = (condition: Condition, now: number): boolean => {
    if (condition.works.size > 0) return false;
    conditions.delete(condition.failure.key);
    condition.end(now);
    return true;
  };
  return {
    of: (work, options = {}) => ({
      watch: watchOf(work),
      failed(error, detail) {
        watches.get(work)?.failed();
        const now = monotonic();
        const failure = failureOf(error, work);
        let condition = conditions.get(failure.key);
        if (condition === undefined) {
          condition = new Condition(log, options.level ?? "error", failure, now);
          conditions.set(failure.key, condition);
          condition.begin(work, { ...options.detail, ...detail });
        } else condition.addFailure(failure, now, { ...options.detail, ...detail });
        const quietMs = failure.isShared ? DEFAULT_QUIET_MS : (options.quietMs ?? DEFAULT_QUIET_MS);
        condition.works.set(work, now + quietMs);
      },
      succeeded() {
        for (const condition of conditions.values()) {
          if (condition.works.delete(work)) endIfRecovered(condition, monotonic());
        }
      },
    }),
    works: () => [...watches.values()].flatMap((watch) => watch.status() ?? []),
    passTime: (ms) => {
      for (const watch of watches.values()) watch.passTime(ms);
    },
    isOngoing: (name) => [...conditions.values()].some(({ failure }) => failure.name === name),
    check() {
      const now = monotonic();
      for (const condition of conditions.values()) {
        for (const [work, until] of condition.works) if (now >= until) condition.works.delete(work);
        // The final line counts the failures that are not logged yet.
        if (!endIfRecovered(condition, now)) condition.repeatIfDue(now);
      }
    },
  };
}

/** One condition, from its first failure to its end. */
class Condition {
  readonly #log: ConditionLog;
  readonly #level: "warn" | "error";
  readonly #startedAt: number;
  /** The latest failure. */
  failure: Failure;
  /** The work that it stops, each with the instant at which it counts as recovered unless it fails again. */
  readonly works = new Map<string, number>();
  #writtenAt: number;
  /** Failures since the last line; `#total` counts all. */
  #unwritten = 0;
  #total = 1;

  constructor(log: ConditionLog, level: "warn" | "error", failure: Failure, now: number) {
    this.#log = log;
    this.#level = level;
    this.failure = failure;
    this.#startedAt = now;
    this.#writtenAt = now;
  }

  begin(work: string, detail: object): void {
    const { name, logged, begins } = this.failure;
    this.#log[this.#level]({ ...detail, condition: name, work, ...logged }, begins);
  }

  addFailure(failure: Failure, now: number, detail: object): void {
    this.failure = failure;
    this.#unwritten++;
    this.#total++;
    this.repeatIfDue(now, detail);
  }

  repeatIfDue(now: number, detail?: object): void {
    if (this.#unwritten === 0 || now - this.#writtenAt < REPEAT_INTERVAL_MS) return;
    const { name, reason, lasts } = this.failure;
    const works = [...this.works.keys()];
    const counted = { failures: this.#unwritten, seconds: seconds(now - this.#startedAt) };
    this.#log[this.#level]({ ...detail, condition: name, works, ...counted, reason }, lasts);
    this.#writtenAt = now;
    this.#unwritten = 0;
  }

  end(now: number): void {
    const { name, ends } = this.failure;
    this.#log.info({ condition: name, failures: this.#total, seconds: seconds(now - this.#startedAt) }, ends);
  }
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000);
}

/** Interval at which the end of a condition is noticed. */
const CHECK_INTERVAL_MS = 5_000;

/**
 * Checks the conditions every few seconds until it is closed.
 * @param pingDatabase fails while the database is unreachable; called while that condition lasts. Without it, an idle
 *   process, whose work no longer fails, would soon report that the database is back.
 */
export function checkConditions(
  conditions: Conditions,
  pingDatabase: () => Promise<void>,
): { readonly close: () => Promise<void> } {
  const database = conditions.of("pinging the database");
  let pinging: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (conditions.isOngoing("database_unreachable")) {
      pinging ??= pingDatabase()
        .then(database.succeeded, database.failed)
        .finally(() => (pinging = undefined));
    }
    conditions.check();
  }, CHECK_INTERVAL_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await pinging;
    },
  };
}

/** The meaning of a failure for the log. */
interface Failure {
  /** Failures with the same key are one condition. */
  readonly key: string;
  /** Whether the cause stops other works too. Then `quietMs` does not apply: work that runs seldom would delay the end. */
  readonly isShared: boolean;
  /** The condition's name in the log. */
  readonly name: string;
  /** The message of the latest error. */
  readonly reason: string;
  /** The error in the first line: its message where the cause is known, all of it where it is not. */
  readonly logged: object;
  /** The messages at its beginning, each minute after that, and at its end. */
  readonly begins: string;
  readonly lasts: string;
  readonly ends: string;
}

type Messages = Pick<Failure, "begins" | "lasts" | "ends">;

const DATABASE_UNREACHABLE: Messages = {
  begins: "the database cannot be reached; retrying until it is back",
  lasts: "the database still cannot be reached",
  ends: "the database can be reached again",
};

const DISK_FULL: Messages = {
  begins: "the disk is full: nothing can be stored until there is room",
  lasts: "the disk is still full",
  ends: "there is disk space again",
};

const DATABASE_BUSY: Messages = {
  begins: "the database takes no more work at present; retrying soon",
  lasts: "the database still takes no more work",
  ends: "the database takes work again",
};

/** Errors of a database that is up, but has no connection or no time left. */
const BUSY: ReadonlySet<string> = new Set([sqlState.tooManyConnections, sqlState.queryCanceled]);

/**
 * An error whose cause is known and whose message says what to do, so that its stack adds nothing. Errors opt in with a
 * property `condition`, which is its name in the log.
 */
interface KnownError extends Error {
  readonly condition: string;
  /** Log messages where "… failed; retrying soon" is not what happened. */
  readonly sentences?: Messages;
}

function isKnown(error: unknown): error is KnownError {
  return error instanceof Error && "condition" in error && typeof error.condition === "string";
}

/** @param work what failed, worded to fit in a sentence */
function failureOf(error: unknown, work: string): Failure {
  const reason = reasonOf(error);
  // Without `key`, the cause is one condition for all works. With `key`, it is a condition of this work alone.
  const known = (name: string, messages: Messages, key = name): Failure => ({
    key,
    isShared: key === name,
    name,
    reason,
    logged: { reason },
    ...messages,
  });
  if (isDiskFull(error)) return known("disk_full", DISK_FULL);
  if (BUSY.has(codeOf(error) ?? "")) return known("database_busy", DATABASE_BUSY);
  if (isUnavailable(error)) return known("database_unreachable", DATABASE_UNREACHABLE);
  const messages = {
    begins: `${work} failed; retrying soon`,
    lasts: `${work} still fails`,
    ends: `${work} works again`,
  };
  if (isKnown(error)) return known(error.condition, error.sentences ?? messages, `${error.condition}: ${work}`);
  const kind = error instanceof Error ? `${error.name} ${codeOf(error) ?? ""}` : typeof error;
  return { key: `${work}: ${kind}`, isShared: false, name: "unexpected", reason, logged: { err: error }, ...messages };
}

function reasonOf(error: unknown): string {
  // An attempt to reach several addresses has one reason for each, and no message.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
