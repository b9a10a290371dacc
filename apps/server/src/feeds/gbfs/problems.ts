import { shorten } from "../report-files.ts";

/** A problem in a feed and its treatment: a line of the report. */
export interface Problem {
  /** The feed's name: `station_status`, … */
  readonly feed: string;
  /** The station's or vehicle's id; null when it has none, or when the whole feed is meant. */
  readonly record: string | null;
  readonly field: string | null;
  /** The feed's value, shortened. */
  readonly value: unknown;
  readonly reason: string;
  /** Repaired: the value was replaced. Rejected: the record, or the whole feed, was left out. */
  readonly action: "repaired" | "rejected";
}

/** Returns the problem of a feed of which nothing can be used. */
export function rejectedFeed(feed: string, reason: string): Problem {
  return { feed, record: null, field: null, value: null, reason, action: "rejected" };
}

/** Limits the stored problems of one document; further ones are counted. Too high: one bad feed fills the memory. */
const MAX_PROBLEMS = 10_000;

/** The problems of one document. */
export class ProblemLog {
  readonly #feed: string;
  readonly #problems: Problem[] = [];
  #omitted = 0;

  constructor(feed: string) {
    this.#feed = feed;
  }

  /** @param problem its value as the feed has it */
  add(problem: Omit<Problem, "feed">): void {
    if (this.#problems.length === MAX_PROBLEMS) this.#omitted++;
    else this.#problems.push({ feed: this.#feed, ...problem, value: shown(problem.value) });
  }

  /** The problems, and a last one that counts those which were not kept. */
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
  /** Milliseconds for which the server asks us to wait; null where it does not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A feed that is no snapshot: it cannot be fetched or read, or it has nothing in it. */
export class FeedFailure extends Error {
  override readonly name = "FeedFailure";
  readonly feed: string;
  /** As in `AnswerError`. */
  readonly retryAfterMs: number | null;

  constructor(feed: string, reason: string, retryAfterMs: number | null = null) {
    super(reason);
    this.feed = feed;
    this.retryAfterMs = retryAfterMs;
  }

  /** The failure of a feed from whatever was thrown while it was fetched or read. */
  static from(feed: string, error: unknown): FeedFailure {
    if (error instanceof FeedFailure) return error;
    const retryAfterMs = error instanceof AnswerError ? error.retryAfterMs : null;
    return new FeedFailure(feed, error instanceof Error ? error.message : String(error), retryAfterMs);
  }
}
