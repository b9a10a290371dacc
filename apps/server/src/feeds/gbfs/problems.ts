import { shorten } from "../report-files.ts";

/** A problem in a feed, and what was done about it. The report has one line for each problem. */
export interface Problem {
  /** The feed's name: `station_status`, … */
  readonly feed: string;
  /** The id of the station, vehicle or other record; null: it has none, or the problem concerns the whole feed. */
  readonly record: string | null;
  readonly field: string | null;
  /** The feed's value, shortened. */
  readonly value: unknown;
  readonly reason: string;
  /** `repaired`: the value was replaced or omitted. `rejected`: the record or the whole feed was left out. */
  readonly action: "repaired" | "rejected";
}

/** Returns the problem to report for a feed that cannot be used at all. */
export function rejectedFeed(feed: string, reason: string): Problem {
  return { feed, record: null, field: null, value: null, reason, action: "rejected" };
}

/** Maximum problems that are kept for one document. More are only counted. Too high: one bad feed fills the memory. */
const MAX_PROBLEMS = 10_000;

/** The problems of one document. */
export class ProblemLog {
  readonly #feed: string;
  readonly #problems: Problem[] = [];
  #omitted = 0;

  constructor(feed: string) {
    this.#feed = feed;
  }

  /** Adds a problem. @param problem its `value` is the value in the feed, and is shortened here */
  add(problem: Omit<Problem, "feed">): void {
    if (this.#problems.length === MAX_PROBLEMS) this.#omitted++;
    else this.#problems.push({ feed: this.#feed, ...problem, value: shown(problem.value) });
  }

  /** Returns the problems. If some were not kept, a last entry `more_problems` has their number. */
  list(): readonly Problem[] {
    if (this.#omitted === 0) return this.#problems;
    return [...this.#problems, { ...rejectedFeed(this.#feed, "more_problems"), value: this.#omitted }];
  }
}

/** Returns a value as the report shows it. */
function shown(value: unknown): unknown {
  if (value === undefined) return null;
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  return shorten(typeof value === "string" ? value : JSON.stringify(value));
}

/** A server's response that is not a document. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  /** The server's `Retry-After` in milliseconds; null: it sent none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A feed cannot be fetched or read, or has no usable content. */
export class FeedFailure extends Error {
  override readonly name = "FeedFailure";
  readonly feed: string;
  /** The server's `Retry-After` in milliseconds; null: it sent none. */
  readonly retryAfterMs: number | null;

  constructor(feed: string, reason: string, retryAfterMs: number | null = null) {
    super(reason);
    this.feed = feed;
    this.retryAfterMs = retryAfterMs;
  }

  /** Turns anything that was thrown while a feed was fetched or read into a FeedFailure. */
  static from(feed: string, error: unknown): FeedFailure {
    if (error instanceof FeedFailure) return error;
    const retryAfterMs = error instanceof AnswerError ? error.retryAfterMs : null;
    return new FeedFailure(feed, error instanceof Error ? error.message : String(error), retryAfterMs);
  }
}
