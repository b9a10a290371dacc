/**
 * `pending`: due, or an attempt is under way. `held`: its endpoint is paused. `failed`: given up after the last attempt of
 * a schedule.
 */
export type DeliveryState = "pending" | "succeeded" | "failed" | "held";

/** How an attempt ended. `rejected`: an answer other than 2xx. `failed`: no whole answer. `unknown`: its process died. */
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
 * The most that a wait is lengthened by chance. Less, and the deliveries that failed together come back together; more,
 * and the schedule no longer means what it says.
 */
const JITTER = 0.1;

/**
 * So many processes in a row have ended with a delivery claimed when it is claimed alone, so that what ends the next process
 * is known. After the first one it is claimed with at most MAX_SUSPECTS_TOGETHER others: only those are claimed alone when
 * that ends a process too. Lower, and a single crash has thousands of innocent deliveries sent one by one.
 */
const SUSPECT_CRASHES = 2;

/**
 * Deliveries that have ended one process and that a process tries at the same time. Of N that a process had claimed at its
 * end, N/100 rounds and then at most 100 single deliveries find the one that ends processes; fewer make more rounds, more
 * make more single deliveries. For the 10,000 of a large deployment this is the least.
 */
export const MAX_SUSPECTS_TOGETHER = 100;

/** So many, and it is set aside. It was claimed alone the last time, so that no other delivery is taken for it. */
export const MAX_CRASHES = SUSPECT_CRASHES + 1;

/** Why a delivery that was set aside failed, as the log calls it. */
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
  /** Of the answer; null where none came. */
  readonly status: number | null;
  /** Why there was no whole answer, as the log calls it. */
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
 * What follows from an attempt: done, given up, or the next one's time, which is never earlier than the schedule says.
 * `Retry-After` can lengthen the wait, to 6 h at most (more counts as 6 h), and never shortens it. An attempt whose result
 * nobody knows counts as a try, and the next is due at once: the receiver has done nothing that asks for a wait. A delivery
 * that ends one process after the other is given up.
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

/** How an attempt ended, in a few words. */
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
 * Why an attempt failed, in one word by which the log is searched: `http_4xx` and its like for a whole response that is
 * no success, `unknown` where the process died, `set_aside` where it was not the first, otherwise what kept the response from being whole. Null: it succeeded.
 */
export function failureOf({ outcome, failure, status }: Pick<AttemptEnd, "outcome" | "failure" | "status">) {
  if (outcome === "succeeded") return null;
  if (outcome === "rejected") return `http_${Math.floor((status ?? 0) / 100)}xx`;
  return failure ?? "unknown";
}
