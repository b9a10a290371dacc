import type { AttemptOutcome } from "./retry-policy.ts";

/** What is remembered of how an endpoint has answered since its last success. */
export interface EndpointHealth {
  /** When the first failure since the last success ended, in milliseconds since 1970; null: none. */
  readonly failingSince: number | null;
  /** Attempts that failed since then. */
  readonly failures: number;
  /** Deliveries that they were for: different ones, and no more than the rule needs. */
  readonly failedDeliveries: readonly string[];
  /** Different deliveries that were answered 410, with no other answer in between. */
  readonly goneDeliveries: readonly string[];
  /** The highest warning given since then: 25, 50, 100, or 0 for none. */
  readonly warned: number;
}

/** Nothing has failed since the last success. */
export const HEALTHY: EndpointHealth = {
  failingSince: null,
  failures: 0,
  failedDeliveries: [],
  goneDeliveries: [],
  warned: 0,
};

/** `probing`: resumed, and not yet answered with success. It is sent one delivery at a time. */
export type EndpointStatus = "active" | "probing" | "paused";

/** Why an endpoint was paused by the way it answered. */
export type PauseCause = "failing" | "gone" | "probe_failed";

/** Percent of the way to a pause. 100 is the pause itself. */
export type Warning = 25 | 50 | 100;

/** The end of an attempt, as far as it tells of the endpoint. */
export interface EndpointResult {
  readonly deliveryId: string;
  readonly outcome: AttemptOutcome;
  /** Of the answer; null where none came. */
  readonly status: number | null;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

/** What follows for the endpoint. */
export interface AfterResult {
  readonly health: EndpointHealth;
  readonly status: EndpointStatus;
  /** Why this very result paused it; null where it did not. */
  readonly pauseReason: PauseCause | null;
  /** The warning to be given now. */
  readonly warn: Warning | null;
}

/**
 * Milliseconds of failing after which an endpoint is paused. Less, and an outage over a weekend pauses it; more, and the
 * first deliveries are given up (after 73 h) before the pause holds the others.
 */
export const FAILING_LIMIT = 72 * 3_600_000;

/** Failed attempts that a pause needs: with fewer, a quiet endpoint would be judged by a handful of tries. */
export const LEAST_FAILURES = 20;

/** Different deliveries that a pause needs: with fewer, one event that the receiver cannot digest would pause all. */
export const LEAST_DELIVERIES = 3;

/** Different deliveries in a row that must be answered 410 Gone: one may be a slip of a deployment. */
const GONE_LIMIT = 3;

/** The warnings before the pause, highest first. */
const EARLY_WARNINGS = [50, 25] as const;

/**
 * What an attempt's result means for its endpoint.
 *
 * - A success ends everything: nothing is remembered, and a probed endpoint is active again.
 * - A result that nobody knows says nothing about the receiver: nothing changes.
 * - A probe that fails pauses the endpoint again.
 * - Three different deliveries answered 410 in a row pause it. Any other whole answer in between begins anew; where no
 *   whole answer came there was no answer, and the row goes on.
 * - Failing for 72 h pauses it, if there were 20 failures of 3 deliveries. These two are asked at 100 % only: the warnings
 *   at 25 and 50 % of the 72 h go by time alone, because a quiet endpoint's partner wants to hear too that nothing
 *   arrives. Each is given once until the next success, and only the highest that is reached.
 *
 * Results come in the order in which they are written. What ends at a paused endpoint (it was under way when the pause
 * came) changes nothing, not even as a success: only a resume ends a pause.
 */
export function afterResult(health: EndpointHealth, status: EndpointStatus, result: EndpointResult): AfterResult {
  const unchanged = { status, pauseReason: null, warn: null };
  if (status === "paused" || result.outcome === "unknown") return { health, ...unchanged };
  if (result.outcome === "succeeded") return { health: HEALTHY, status: "active", pauseReason: null, warn: null };
  const failed = withFailure(health, result);
  if (status === "probing") return { health: failed, status: "paused", pauseReason: "probe_failed", warn: null };
  if (failed.goneDeliveries.length >= GONE_LIMIT) {
    return { health: failed, status: "paused", pauseReason: "gone", warn: null };
  }
  const failingFor = result.endedAt - (failed.failingSince ?? result.endedAt);
  if (isPastLimits(failed, failingFor)) {
    return { health: { ...failed, warned: 100 }, status: "paused", pauseReason: "failing", warn: 100 };
  }
  const warn = EARLY_WARNINGS.find((level) => failingFor >= (FAILING_LIMIT * level) / 100);
  if (warn === undefined || warn <= failed.warned) return { health: failed, ...unchanged };
  return { health: { ...failed, warned: warn }, status, pauseReason: null, warn };
}

function isPastLimits({ failures, failedDeliveries }: EndpointHealth, failingFor: number): boolean {
  return failingFor >= FAILING_LIMIT && failures >= LEAST_FAILURES && failedDeliveries.length >= LEAST_DELIVERIES;
}

function withFailure(health: EndpointHealth, { deliveryId, outcome, status, endedAt }: EndpointResult): EndpointHealth {
  return {
    failingSince: health.failingSince ?? endedAt,
    failures: health.failures + 1,
    failedDeliveries: withId(health.failedDeliveries, deliveryId, LEAST_DELIVERIES),
    goneDeliveries: goneAfter(health.goneDeliveries, deliveryId, outcome === "rejected" ? status : null),
    warned: health.warned,
  };
}

/** @param answered the status of a whole answer; null where none came */
function goneAfter(gone: readonly string[], deliveryId: string, answered: number | null): readonly string[] {
  if (answered === null) return gone;
  return answered === 410 ? withId(gone, deliveryId, GONE_LIMIT) : [];
}

/** The ids with one more, unless it is among them or there are enough: the rows of lanes stay small. */
function withId(ids: readonly string[], id: string, most: number): readonly string[] {
  return ids.includes(id) || ids.length >= most ? ids : [...ids, id];
}
