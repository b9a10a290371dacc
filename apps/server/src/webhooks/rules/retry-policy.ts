/**
 * `pending`: due, or an attempt is under way. `held`: its endpoint is paused. `failed`: given up after the last attempt of
 * a schedule.
 */
export type DeliveryState = "pending" | "succeeded" | "failed" | "held";

/**
 * The outcome of an attempt. `rejected`: a response other than 2xx. `failed`: no complete response. `unknown`: its process
 * died.
 */
export type AttemptOutcome = "succeeded" | "rejected" | "failed" | "unknown";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Milliseconds to wait before each attempt of a schedule, counted from the end of the one before it. Together 73 h: long
 * enough for a weekend without anybody at the receiver's desk.
 */
export const RETRY_DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  1 * HOUR,
  2 * HOUR,
  4 * HOUR,
  8 * HOUR,
  12 * HOUR,
  12 * HOUR,
  16 * HOUR,
  17 * HOUR,
];

/** Attempts of one schedule; after them the delivery is given up. */
export const MAX_TRIES = RETRY_DELAYS_MS.length;

/** Hours from the first attempt of a schedule to the last, rounded. */
export const SCHEDULE_HOURS = Math.round(RETRY_DELAYS_MS.reduce((sum, delay) => sum + delay, 0) / HOUR);

/**
 * The largest random extension of a wait. Too low: deliveries that failed together return together. Too high: the schedule
 * is no longer meaningful.
 */
const JITTER = 0.1;

/**
 * After so many processes in a row have died with a delivery claimed, it is claimed alone, so that the cause of the next
 * death is known. After the first one it is claimed with at most MAX_SUSPECTS_TOGETHER others; only these are claimed alone
 * if that process dies too. Too low: a single crash makes thousands of innocent deliveries be sent one by one.
 */
const SUSPECT_CRASHES = 2;

/**
 * Deliveries that have ended one process and that a process tries at the same time. Of N that a process had claimed at its
 * end, N/100 rounds and then at most 100 single deliveries find the one that ends processes; fewer make more rounds, more
 * make more single deliveries. For the 10,000 of a large deployment this is the least.
 */
export const MAX_SUSPECTS_TOGETHER = 100;

/**
 * After so many crashes a delivery is set aside. It was alone at the last one, so that no other delivery can be the cause.
 */
export const MAX_CRASHES = SUSPECT_CRASHES + 1;

/** The failure of a delivery that was set aside, as the log names it. */
export const SET_ASIDE = "set_aside";

/** The longest `Retry-After` that counts. Longer, and one wrong header uses up the schedule. */
const MAX_RETRY_AFTER_MS = 6 * HOUR;

/** The end of an attempt. */
export interface AttemptEnd {
  /** Attempts of this schedule, this one included: 1 to MAX_TRIES. */
  readonly tries: number;
  readonly outcome: AttemptOutcome;
  /** Processes in a row that ended with the delivery claimed, the latest included. Left out: none, the outcome is known. */
  readonly crashes?: number;
  /** The status code of the response; null when there was none. */
  readonly status: number | null;
  /** The reason why there was no complete response, as the log names it. */
  readonly failure: string | null;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
  /** Milliseconds for which the answer's `Retry-After` asks; null where it does not. */
  readonly retryAfterMs: number | null;
  /** From 0 to 1, drawn for this attempt alone. */
  readonly chance: number;
}

/** The consequence of an attempt. `nextAt` in milliseconds since 1970; `reason` is a short text for the log. */
export type AfterAttempt =
  | { readonly state: "succeeded" }
  | { readonly state: "failed" }
  | { readonly state: "pending"; readonly nextAt: number; readonly reason: string };

/**
 * Returns the consequence of an attempt: done, given up, or the time of the next attempt, which is never earlier than the
 * schedule says. `Retry-After` can lengthen the wait, to 6 h at most (more counts as 6 h), and never shortens it. An
 * attempt with an unknown result counts as a try, and the next is due at once: the receiver has given no reason to wait. A
 * delivery whose attempts keep ending processes is given up.
 */
export function afterAttempt(attempt: AttemptEnd): AfterAttempt {
  const { tries, outcome, crashes = 0, endedAt } = attempt;
  if (outcome === "succeeded") return { state: "succeeded" };
  if (crashes >= MAX_CRASHES) return { state: "failed" };
  const delay = RETRY_DELAYS_MS[tries];
  if (delay === undefined) return { state: "failed" };
  const happened = `after attempt ${tries} of ${MAX_TRIES}: ${describeOutcome(attempt)}`;
  if (outcome === "unknown") return { state: "pending", nextAt: endedAt, reason: happened };
  const asked = askedFor(attempt.retryAfterMs);
  const wait = Math.max(delay, asked);
  const nextAt = endedAt + wait + Math.floor(wait * JITTER * attempt.chance);
  const reason = asked > delay ? `${happened}; asked to wait ${asked / SECOND} s by Retry-After` : happened;
  return { state: "pending", nextAt, reason };
}

/** Whole milliseconds for which `Retry-After` counts. */
function askedFor(retryAfterMs: number | null): number {
  if (retryAfterMs === null || !(retryAfterMs > 0)) return 0;
  return Math.min(Math.ceil(retryAfterMs), MAX_RETRY_AFTER_MS);
}

/** Returns the outcome of an attempt in a few words. */
export function describeOutcome({
  outcome,
  status,
  failure,
}: Pick<AttemptEnd, "outcome" | "status" | "failure">): string {
  if (outcome === "unknown" && failure === SET_ASIDE) return "set aside";
  if (outcome === "unknown") return "result unknown";
  if (outcome === "failed") return failure === null ? "no whole answer" : `no whole answer (${failure})`;
  return status === null ? "answered without a status" : `answered ${status}`;
}

/**
 * Returns the failure of an attempt in one word, by which the log is searched: `http_4xx` and similar for a complete
 * response that is no success, `unknown` when the process died, `set_aside` when that happened repeatedly, otherwise the
 * reason why the response was incomplete. Null: it succeeded.
 */
export function failureOf({ outcome, failure, status }: Pick<AttemptEnd, "outcome" | "failure" | "status">) {
  if (outcome === "succeeded") return null;
  if (outcome === "rejected") return `http_${Math.floor((status ?? 0) / 100)}xx`;
  return failure ?? "unknown";
}
