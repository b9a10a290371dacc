import { type Failure, failureOf } from "./failure.ts";

/** Where lines go: a part of pino's logger. */
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

/** What is wrong for longer than a moment: the log hears of it at once, then once a minute with a count, then of its end. */
export interface Conditions {
  /** @param work what is done again and again, as it stands in a sentence: "numbering events" */
  of(work: string, options?: WorkOptions): WorkCondition;
  /** Whether a condition of this name lasts. */
  isLasting(name: string): boolean;
  /** Writes what is due, and notices what has ended. Called every few seconds. */
  look(): void;
}

export interface WorkOptions {
  /**
   * Milliseconds without a failure after which the work counts as well again, where nobody calls `succeeded`: longer
   * than the work takes to be tried again. Does not count for causes that stop other works too, such as a full disk. `Infinity` where every success is reported.
   */
  readonly quietMs?: number;
  /** How bad a failure is. The default is `error`. */
  readonly level?: "warn" | "error";
  /** Stands in every line, such as the source of a feed. */
  readonly detail?: object;
}

/** One work's side of the conditions. */
export interface WorkCondition {
  /** @param detail stands in the line, when this failure gets one */
  readonly failed: (error: unknown, detail?: object) => void;
  /** The work was done. */
  readonly succeeded: () => void;
}

/** Milliseconds between two lines about one condition. Shorter fills disks; longer and a tail of the log shows nothing. */
const REPEAT_MS = 60_000;
/** Most work is tried again within seconds. */
const QUIET_MS = 15_000;

/**
 * Keeps the log readable while something is wrong for longer: a database that is away fails every work several times a
 * second. A known cause, such as a full disk, is one condition however many works it stops; an unknown one belongs to its
 * work, and its stack is written once.
 */
export function createConditions({ monotonic, log }: ConditionsOptions): Conditions {
  const conditions = new Map<string, Condition>();
  /** @returns whether the condition has ended */
  const endWhereWell = (condition: Condition, now: number): boolean => {
    if (condition.works.size > 0) return false;
    conditions.delete(condition.failure.key);
    condition.end(now);
    return true;
  };
  return {
    of: (work, options = {}) => ({
      failed(error, detail) {
        const now = monotonic();
        const failure = failureOf(error, work);
        let condition = conditions.get(failure.key);
        if (condition === undefined) {
          condition = new Condition(log, options.level ?? "error", failure, now);
          conditions.set(failure.key, condition);
          condition.begin(work, { ...options.detail, ...detail });
        } else condition.goOn(failure, now, { ...options.detail, ...detail });
        const quietMs = failure.isShared ? QUIET_MS : (options.quietMs ?? QUIET_MS);
        condition.works.set(work, now + quietMs);
      },
      succeeded() {
        for (const condition of conditions.values()) {
          if (condition.works.delete(work)) endWhereWell(condition, monotonic());
        }
      },
    }),
    isLasting: (name) => [...conditions.values()].some(({ failure }) => failure.name === name),
    look() {
      const now = monotonic();
      for (const condition of conditions.values()) {
        for (const [work, until] of condition.works) if (now >= until) condition.works.delete(work);
        // The line of the end counts what was not written yet.
        if (!endWhereWell(condition, now)) condition.repeatWhereDue(now);
      }
    },
  };
}

/** One condition, from its first failure to its end. */
class Condition {
  readonly #log: ConditionLog;
  readonly #level: "warn" | "error";
  readonly #startedAt: number;
  /** The last one. */
  failure: Failure;
  /** What suffers from it, and until when it does unless it fails again. */
  readonly works = new Map<string, number>();
  #writtenAt: number;
  /** Failures since the last line, and since the beginning. */
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

  goOn(failure: Failure, now: number, detail: object): void {
    this.failure = failure;
    this.#unwritten++;
    this.#total++;
    this.repeatWhereDue(now, detail);
  }

  repeatWhereDue(now: number, detail?: object): void {
    if (this.#unwritten === 0 || now - this.#writtenAt < REPEAT_MS) return;
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
