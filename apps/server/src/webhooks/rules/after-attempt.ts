import type { ConnectFailureCode, DescribedFailure } from "../../outbound/addresses/address-guard.ts";
import type { ConnectTimings } from "../../outbound/addresses/connect.ts";

/*
 * The types of an attempt and its result, and the consequences of the result: for the delivery (`afterAttempt`: done, given
 * up, or tried again) and for the endpoint (`afterResult`: its health, warnings and pauses). No input or output.
 */

/** One POST as it goes to a receiver. */
export interface AttemptRequest {
  readonly url: string;
  /**
   * The headers, without those that the connection needs (`host`, `connection`, `content-length` and similar): the sender
   * writes these.
   */
  readonly headers: readonly Header[];
  readonly body: string | Uint8Array;
}

/** A header as it is sent, or as it came. */
export type Header = readonly [name: string, value: string];

/**
 * Why there is no complete response. The set is closed: logs and pages may explain each. Those whose names do not say it
 * all:
 *
 * - `url_refused`: the URL may not be called, by our own rules.
 * - `tls`: also where an open connection breaks TLS later.
 * - `timeout`: connected, but no response headers in time.
 * - `body_timeout`: response headers, but the body did not end in time.
 * - `reset`: closed by the receiver before the response was complete.
 * - `stale_connection`: the receiver closed a connection of an earlier attempt after we began to write, before any byte of
 *   a response. Most likely the receiver did not read the request, but it may have, so the sender does not repeat it.
 * - `protocol`: the response is not valid HTTP/1.1, or is padded with chunk extensions.
 * - `headers_too_large`, `too_many_informational`: a response that would fill our memory.
 */
export type AttemptFailure =
  | ConnectFailureCode
  | "url_refused"
  | "timeout"
  | "body_timeout"
  | "stale_connection"
  | "protocol"
  | "headers_too_large"
  | "too_many_informational";

/** Milliseconds that each part took; null where it did not happen, as on a reused connection. */
export interface AttemptTimings extends ConnectTimings {
  /** From the request's last byte to the response's first. */
  readonly firstByte: number | null;
  readonly total: number;
}

/** The logged facts of an attempt, whatever its outcome. */
export interface AttemptRecord {
  /** All headers as they were sent, in their order and spelling; empty where nothing was written. */
  readonly sentHeaders: readonly Header[];
  /** The address that was connected to; null: no connection was opened. */
  readonly remoteAddress: string | null;
  /** Whether an earlier attempt had opened the connection. */
  readonly reusedConnection: boolean;
  readonly answerHeaders: readonly Header[];
  /** At most the first 64 KiB, without the framing of chunks. Nothing is decompressed. */
  readonly answerBody: Uint8Array;
  /** The body was longer than the stored part. */
  readonly answerCut: boolean;
  /** Milliseconds that `Retry-After` asks to wait; null: it is missing or unreadable. */
  readonly retryAfterMs: number | null;
  readonly timings: AttemptTimings;
}

/** `succeeded`: a 2xx. `rejected`: any other status, redirects among them. */
export interface AnsweredAttempt extends AttemptRecord {
  readonly outcome: "succeeded" | "rejected";
  readonly status: number;
  readonly failure: null;
  readonly detail: null;
}

/** No complete response. `status` is set if response headers arrived; `detail` describes the failure. */
export interface FailedAttempt extends AttemptRecord {
  readonly outcome: "failed";
  readonly status: number | null;
  readonly failure: AttemptFailure;
  readonly detail: string;
}

/** The outcome of one POST. */
export type AttemptResult = AnsweredAttempt | FailedAttempt;

/** A failure before it became part of a result. */
export type Failure = DescribedFailure<AttemptFailure>;

/**
 * `pending`: it waits for its next attempt, or an attempt is under way. `held`: it waits because its endpoint was paused or
 * removed. `failed`: it was given up, dropped or skipped.
 */
export type DeliveryState = "pending" | "succeeded" | "failed" | "held";

/**
 * The outcome of an attempt. `rejected`: a response other than 2xx. `failed`: no complete response. `unknown`: its process
 * died, or lost its lease of the endpoint's deliveries.
 */
export type AttemptOutcome = "succeeded" | "rejected" | "failed" | "unknown";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Milliseconds to wait before each attempt of a schedule, counted from the end of the one before it. Together about 73 h:
 * long enough for a weekend without anybody at the receiver's desk.
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
 * The largest random extension of a wait, as a share of the wait. Too low: deliveries that failed together return together.
 * Too high: the schedule is no longer meaningful.
 */
const JITTER = 0.1;

/**
 * A suspect is a delivery that a process had claimed when the process died: it may have caused the death. After one death,
 * a delivery is claimed together with other suspects, MAX_SUSPECTS_TOGETHER in all at most. After SUSPECT_CRASHES deaths in
 * a row it is claimed alone, so that the cause of another death is known. Too low: after a single crash, thousands of
 * innocent deliveries are sent one by one.
 */
const SUSPECT_CRASHES = 2;

/**
 * Maximum suspects that a process tries at the same time. To find the one that crashes among N claimed deliveries takes
 * N/100 rounds and then at most 100 single attempts. Too low: more rounds. Too high: more single attempts. 100 minimizes the
 * sum for the 10,000 claims of a large deployment.
 */
export const MAX_SUSPECTS_TOGETHER = 100;

/** After so many crashes in a row a delivery is set aside. It was the only suspect that was tried at the last one. */
export const MAX_CRASHES = SUSPECT_CRASHES + 1;

/** The failure of a delivery that was set aside, as the log names it. */
export const SET_ASIDE = "set_aside";

/** Maximum `Retry-After` that is obeyed. Too high: one wrong header delays a delivery for days. */
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
  /** A random number from 0 to 1. The larger it is, the longer is the wait for the next attempt. */
  readonly chance: number;
}

/** The consequence of an attempt. `nextAt` in milliseconds since 1970; `reason` is a short text for the log. */
export type AfterAttempt =
  | { readonly state: "succeeded" }
  | { readonly state: "failed" }
  | { readonly state: "pending"; readonly nextAt: number; readonly reason: string };

/**
 * Returns the consequence of an attempt: done, given up, or the time of the next attempt, which is not earlier than the
 * schedule says. `Retry-After` can lengthen the wait, to 6 h at most (more counts as 6 h), and never shortens it. An attempt
 * with an unknown result is an exception: it counts as a try, but the next is due at once, because the receiver has given no
 * reason to wait. A delivery whose attempts keep ending processes is given up.
 */
export function afterAttempt(attempt: AttemptEnd): AfterAttempt {
  const { tries, outcome, crashes = 0, endedAt } = attempt;
  if (outcome === "succeeded") return { state: "succeeded" };
  if (crashes >= MAX_CRASHES) return { state: "failed" };
  // The delay before the next attempt; undefined after the last one of the schedule.
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

/** Returns the whole milliseconds for which `Retry-After` counts: none if it is in the past, or NaN. */
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

/**
 * An endpoint's failures in its present stretch of failing. A stretch has no success in it, and at most a day (SILENCE_MS)
 * between two failures. The count of responses 410 goes on over a silence of more than a day.
 */
export interface EndpointHealth {
  /** When the first failure of this stretch ended, in milliseconds since 1970; null: no failure counts. */
  readonly failingSince: number | null;
  /** When the last failure ended; null: no failure counts. */
  readonly lastFailedAt: number | null;
  /** Attempts that failed in this stretch. */
  readonly failures: number;
  /** Ids of different deliveries that failed in this stretch; at most LEAST_DELIVERIES. */
  readonly failedDeliveries: readonly string[];
  /** Responses 410 without another complete response in between; counted up to GONE_ANSWERS. */
  readonly goneAnswers: number;
  /** When the first of these responses ended, in milliseconds since 1970; null: there is none. */
  readonly goneSince: number | null;
  /** The highest warning given in this stretch: 25, 50, 100, or 0 for none. */
  readonly warned: number;
}

/** No failure counts: there was none, or a success, a resume or a new address came after it. */
export const HEALTHY: EndpointHealth = {
  failingSince: null,
  lastFailedAt: null,
  failures: 0,
  failedDeliveries: [],
  goneAnswers: 0,
  goneSince: null,
  warned: 0,
};

/** `probing`: resumed, and not yet answered with success. It is sent one delivery at a time. */
export type EndpointStatus = "active" | "probing" | "paused";

/** The reason why an endpoint was paused automatically. */
export type PauseCause = "failing" | "gone" | "probe_failed";

/** Percent of the way to a pause. 100 is the pause itself. */
export type Warning = 25 | 50 | 100;

/** The facts about an ended attempt that matter for its endpoint's health. */
export interface EndpointResult {
  readonly deliveryId: string;
  readonly outcome: AttemptOutcome;
  /** The status code of the response; null when there was none. */
  readonly status: number | null;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

/** The consequence for the endpoint. */
export interface AfterResult {
  readonly health: EndpointHealth;
  readonly status: EndpointStatus;
  /** The reason why this result paused the endpoint; null when it did not. */
  readonly pauseReason: PauseCause | null;
  /** The warning to be given now; null: none. */
  readonly warning: Warning | null;
}

/**
 * Milliseconds of failing after which an endpoint is paused. Too low: an outage over a weekend pauses it. Too high: the
 * first deliveries are given up (after 73 h) before the pause holds those that are left.
 */
export const FAILING_LIMIT_MS = 72 * 3_600_000;

/**
 * Milliseconds after which a failure no longer counts. Too low: with less than the longest wait between two attempts (17 h
 * and a tenth), each retry of a delivery would begin a new period. Too high: failures of days ago count against an endpoint
 * that was sent nothing since.
 */
export const SILENCE_MS = 24 * 3_600_000;

/** Failed attempts that a pause for failing needs: with fewer, a quiet endpoint would be judged by a handful of tries. */
export const LEAST_FAILURES = 20;

/** Different deliveries that such a pause needs: with fewer, one event that the receiver cannot process would pause all. */
export const LEAST_DELIVERIES = 3;

/** Answers 410 Gone in a row that pause an endpoint: one may be about a single event. */
const GONE_ANSWERS = 3;

/**
 * Minimum milliseconds from the first to the last of these responses. Too low: a burst in one wrong second of a
 * deployment pauses the endpoint. Too high: the service keeps calling an address that is gone.
 */
const GONE_SPAN_MS = 60_000;

/** The warnings before the pause, highest first. */
const EARLY_WARNINGS = [50, 25] as const;

/**
 * Returns what an attempt's result means for its endpoint.
 *
 * - A success resets the health, and a probed endpoint is active again.
 * - An unknown result says nothing about the receiver: nothing changes.
 * - A failed probe pauses the endpoint again.
 * - Three responses 410 in a row, the last at least a minute after the first, pause it. Another complete response in
 *   between restarts the count. An attempt without a complete response does not change the count.
 * - Failing for 72 h pauses it, if there were 20 failures of 3 deliveries. These minimums apply to the pause alone. The
 *   warnings at 25 % and 50 % of the 72 h depend on time alone, because the partner of a quiet endpoint also wants to hear
 *   that nothing arrives. Each warning is given once in a stretch of failing, and only the highest that is due.
 * - Silence is not failing: a failure more than a day after the last one begins a new stretch. For example, an endpoint
 *   that gets one event a week, each tried in vain for 73 h, is warned of each and never paused. Otherwise the first failure
 *   after months of silence would pause it for failures that may have been fixed long ago. No delivery is lost: one that was
 *   given up can be replayed like one that was held. The count of responses 410 continues over a silence, because a 410 says
 *   that the address is gone for good.
 *
 * Results come roughly, not exactly, in the order in which the attempts end. A result at a paused endpoint changes nothing:
 * its attempt was in flight when the pause came. Even a success does not end a pause, only a resume does.
 */
export function afterResult(health: EndpointHealth, status: EndpointStatus, result: EndpointResult): AfterResult {
  const unchanged = { status, pauseReason: null, warning: null };
  if (status === "paused" || result.outcome === "unknown") return { health, ...unchanged };
  if (result.outcome === "succeeded") return { health: HEALTHY, status: "active", pauseReason: null, warning: null };
  const failed = withFailure(health, result);
  if (status === "probing") return { health: failed, status: "paused", pauseReason: "probe_failed", warning: null };
  if (isGone(failed, result)) {
    return { health: failed, status: "paused", pauseReason: "gone", warning: null };
  }
  const failingFor = result.endedAt - (failed.failingSince ?? result.endedAt);
  if (isPastLimits(failed, failingFor)) {
    return { health: { ...failed, warned: 100 }, status: "paused", pauseReason: "failing", warning: 100 };
  }
  const warning = EARLY_WARNINGS.find((level) => failingFor >= (FAILING_LIMIT_MS * level) / 100);
  if (warning === undefined || warning <= failed.warned) return { health: failed, ...unchanged };
  return { health: { ...failed, warned: warning }, status, pauseReason: null, warning };
}

function isPastLimits({ failures, failedDeliveries }: EndpointHealth, failingFor: number): boolean {
  return failingFor >= FAILING_LIMIT_MS && failures >= LEAST_FAILURES && failedDeliveries.length >= LEAST_DELIVERIES;
}

/** Tells whether this response is the 410 that pauses the endpoint. */
function isGone({ goneAnswers, goneSince }: EndpointHealth, { outcome, status, endedAt }: EndpointResult): boolean {
  if (outcome !== "rejected" || status !== 410 || goneSince === null) return false;
  return goneAnswers >= GONE_ANSWERS && endedAt - goneSince >= GONE_SPAN_MS;
}

/** Returns the health after a failed attempt. It begins a new stretch of failing if the last one is over. */
function withFailure(health: EndpointHealth, { deliveryId, outcome, status, endedAt }: EndpointResult): EndpointHealth {
  const before = isOver(health, endedAt) ? goneOf(health) : health;
  return {
    failingSince: before.failingSince ?? endedAt,
    // Results may be written in another order than that in which they ended.
    lastFailedAt: Math.max(before.lastFailedAt ?? endedAt, endedAt),
    failures: before.failures + 1,
    failedDeliveries: withId(before.failedDeliveries, deliveryId, LEAST_DELIVERIES),
    ...goneAfter(before, outcome === "rejected" ? status : null, endedAt),
    warned: before.warned,
  };
}

/** Tells whether a stretch of failing had ended, by silence, when the next attempt failed. */
function isOver({ lastFailedAt }: EndpointHealth, endedAt: number): boolean {
  return lastFailedAt !== null && endedAt - lastFailedAt > SILENCE_MS;
}

type Gone = Pick<EndpointHealth, "goneAnswers" | "goneSince">;

/** Returns what remains of the health after a stretch of failing: the count of responses 410. */
function goneOf({ goneAnswers, goneSince }: EndpointHealth): EndpointHealth {
  return { ...HEALTHY, goneAnswers, goneSince };
}

/** @param answered the status of a complete response, or null without one */
function goneAfter({ goneAnswers, goneSince }: EndpointHealth, answered: number | null, endedAt: number): Gone {
  if (answered === null) return { goneAnswers, goneSince };
  if (answered !== 410) return { goneAnswers: 0, goneSince: null };
  return { goneAnswers: Math.min(GONE_ANSWERS, goneAnswers + 1), goneSince: goneSince ?? endedAt };
}

/** Returns the ids with one more, unless it is among them or there are enough: the rows of lanes stay small. */
function withId(ids: readonly string[], id: string, most: number): readonly string[] {
  return ids.includes(id) || ids.length >= most ? ids : [...ids, id];
}
