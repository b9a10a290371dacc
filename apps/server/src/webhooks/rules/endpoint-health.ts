import type { AttemptOutcome } from "./retry-policy.ts";

/**
 * The history of an endpoint's answers since its last success. A period of failing has no success in it and no day without
 * a failure.
 */
export interface EndpointHealth {
  /** When the first failure of this stretch ended, in milliseconds since 1970; null: none since the last success. */
  readonly failingSince: number | null;
  /** When the last failure ended; null: none since the last success. */
  readonly lastFailedAt: number | null;
  /** Attempts that failed in it. */
  readonly failures: number;
  /** Deliveries that they were for: different ones, and no more than the rule needs. */
  readonly failedDeliveries: readonly string[];
  /** Answers 410 with no other answer in between; counted no further than the rule needs. */
  readonly goneAnswers: number;
  /** When the first of them ended, in milliseconds since 1970; null: there is none. */
  readonly goneSince: number | null;
  /** The highest warning given in this stretch: 25, 50, 100, or 0 for none. */
  readonly warned: number;
}

/** Nothing has failed since the last success. */
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

/** The end of an attempt, as far as it tells of the endpoint. */
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
  /** The warning to be given now. */
  readonly warning: Warning | null;
}

/**
 * Milliseconds of failing after which an endpoint is paused. Less, and an outage over a weekend pauses it; more, and the
 * first deliveries are given up (after 73 h) before the pause holds the others.
 */
export const FAILING_LIMIT_MS = 72 * 3_600_000;

/**
 * Milliseconds after which a failure no longer counts. Too low: with less than the longest wait between two attempts (17 h
 * and a tenth), each retry of a delivery would begin a new period. Too high: failures of days ago count against an endpoint
 * that was sent nothing since.
 */
export const SILENCE_MS = 24 * 3_600_000;

/** Failed attempts that a pause needs: with fewer, a quiet endpoint would be judged by a handful of tries. */
export const LEAST_FAILURES = 20;

/** Different deliveries that a pause needs: with fewer, one event that the receiver cannot digest would pause all. */
export const LEAST_DELIVERIES = 3;

/** Answers 410 Gone in a row that pause an endpoint: one may be about a single event. */
const GONE_ANSWERS = 3;

/**
 * Milliseconds from the first to the last of them, at least. Less, and a burst during one wrong second of a deployment pauses
 * the endpoint; more, and an address that is gone for good is called for longer.
 */
const GONE_SPAN_MS = 60_000;

/** The warnings before the pause, highest first. */
const EARLY_WARNINGS = [50, 25] as const;

/**
 * What an attempt's result means for its endpoint.
 *
 * - A success ends everything: nothing is remembered, and a probed endpoint is active again.
 * - A result that nobody knows says nothing about the receiver: nothing changes.
 * - A probe that fails pauses the endpoint again.
 * - Three answers 410 in a row, the last at least a minute after the first, pause it. Any other whole answer in between
 *   begins anew; where no whole answer came there was no answer, and the row goes on.
 * - Failing for 72 h pauses it, if there were 20 failures of 3 deliveries. These two are asked at 100 % only: the warnings
 *   at 25 and 50 % of the 72 h go by time alone, because a quiet endpoint's partner wants to hear too that nothing
 *   arrives. Each is given once in a stretch of failing, and only the highest that is reached.
 * - Silence is no failing: more than a day after the last failure the next one begins a new stretch. So an endpoint that
 *   gets an event a week, each tried in vain for 73 h, is warned of each and never paused; otherwise the first slip after
 *   months of silence would pause it, for failures that may have been mended long ago. Nothing is lost by that: a delivery
 *   given up can be replayed like one that was held. Answers 410 count on over the silence: they speak of the future.
 *
 * Results come in the order in which they are written. What ends at a paused endpoint (it was under way when the pause
 * came) changes nothing, not even as a success: only a resume ends a pause.
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

/** Tells whether this very answer is the 410 that pauses. */
function isGone({ goneAnswers, goneSince }: EndpointHealth, { outcome, status, endedAt }: EndpointResult): boolean {
  if (outcome !== "rejected" || status !== 410 || goneSince === null) return false;
  return goneAnswers >= GONE_ANSWERS && endedAt - goneSince >= GONE_SPAN_MS;
}

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

/** A stretch of failing that is over leaves this much. */
function goneOf({ goneAnswers, goneSince }: EndpointHealth): EndpointHealth {
  return { ...HEALTHY, goneAnswers, goneSince };
}

/** @param answered the status of a whole answer; null where none came */
function goneAfter({ goneAnswers, goneSince }: EndpointHealth, answered: number | null, endedAt: number): Gone {
  if (answered === null) return { goneAnswers, goneSince };
  if (answered !== 410) return { goneAnswers: 0, goneSince: null };
  return { goneAnswers: Math.min(GONE_ANSWERS, goneAnswers + 1), goneSince: goneSince ?? endedAt };
}

/** Returns the ids with one more, unless it is among them or there are enough: the rows of lanes stay small. */
function withId(ids: readonly string[], id: string, most: number): readonly string[] {
  return ids.includes(id) || ids.length >= most ? ids : [...ids, id];
}
