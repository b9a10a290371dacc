import type { MailOutcome } from "../../outbound/mail/outbox.ts";
import type { PauseCause, Warning } from "../../webhooks/rules/after-attempt.ts";
import type { HttpMetrics } from "./http-metrics.ts";

/*
 * What a process counts, as types. The metrics themselves are in the other files, which load prom-client (7 MB): a process
 * without METRICS_PORT does not load them.
 */

/** The result of an attempt, as far as it is counted. */
export interface CountedResult {
  /** `rejected`: a response other than 2xx. `failed`: no complete response. `unknown`: the process ended meanwhile. */
  readonly outcome: "succeeded" | "rejected" | "failed" | "unknown";
  /** The failure's code in the log. */
  readonly failure: string | null;
  readonly status: number | null;
  readonly total_ms: number | null;
}

/** An attempt whose result was written, with what it meant for its endpoint. */
export interface CountedAttempt {
  readonly result: CountedResult;
  /** The endpoint's new status: `active` again, or the reason of a pause. */
  readonly statusChange: "active" | PauseCause | null;
  readonly warning: Warning | null;
}

/** Counts what the dispatcher does, which is the worker that sends webhooks. */
export interface WebhookMetrics {
  /** A batch of deliveries was claimed. */
  claimed(deliveries: number): void;
  /**
   * An attempt begins.
   * @param waitedMs milliseconds since it was due
   * @param queue `replay`: sent again on request, after everything else
   */
  attemptStarted(waitedMs: number, queue: "regular" | "replay"): void;
  /**
   * A batch of results was written.
   * @param stale number of results that another process, which had taken over the endpoint's deliveries meanwhile, had
   *   already written as unknown
   */
  resultsWritten(attempts: readonly CountedAttempt[], stale: number): void;
  /** Orphans (deliveries that an ended worker had claimed without writing a result) got the result `unknown`. */
  orphansWritten(orphans: number): void;
  /** Deliveries were set aside, which means that they are not tried any more. */
  setAside(systemId: string, deliveryIds: readonly string[]): void;
}

/** Counts mails by outcome. */
export interface MailMetrics {
  /** Counts mails to partners. */
  readonly mailed: (outcome: MailOutcome) => void;
  readonly operatorMailed: (outcome: MailOutcome) => void;
}

/** What the process counts. */
export interface Metrics {
  /** Counts what the dispatcher does. */
  readonly webhooks: WebhookMetrics;
  /** Counts the mails to partners, which are about failing endpoints, and those to the operator. */
  readonly mails: MailMetrics;
  /** Counts requests and their outcomes. */
  readonly http: HttpMetrics;
  /** Sets the sources of figures that are read at each scrape. Without sources, the figures are left out. */
  watch(sources: MetricSources): void;
}

const ignore = () => undefined;

/** The metrics of a process that serves none: counts nothing. */
export const uncounted: Metrics = {
  webhooks: {
    claimed: ignore,
    attemptStarted: ignore,
    resultsWritten: ignore,
    orphansWritten: ignore,
    setAside: ignore,
  },
  mails: { mailed: ignore, operatorMailed: ignore },
  http: {
    requests: undefined,
    connectionWaited: ignore,
    refused: ignore,
    compromised: ignore,
    filteredReadRejected: ignore,
    unlogged: ignore,
    redisLost: ignore,
    replicaRead: ignore,
    watchReplica: ignore,
    watch: ignore,
  },
  watch: ignore,
};

/** The waiting deliveries and mails of a system, and the state of its endpoints. */
export interface SystemBacklog {
  readonly systemId: string;
  /** Deliveries due now or later, and those under way. */
  readonly pending: number;
  /** Milliseconds for which the oldest due delivery has been due; null: none is due. */
  readonly oldestDueMs: number | null;
  /** Held deliveries, of endpoints that are or were paused, but not removed. */
  readonly held: number;
  /** Held deliveries of endpoints that are not paused and have no running replay: nobody sends them. */
  readonly stranded: number;
  readonly endpoints: { readonly active: number; readonly probing: number; readonly paused: number };
  /** Mails about failing endpoints that are not sent yet. */
  readonly waitingMails: number;
  /** Worker processes that are alive. */
  readonly workers: number;
  /** Bytes of the log of attempts by partner, the largest first: few enough for a series each. */
  readonly logs: readonly { readonly partnerId: string; readonly bytes: number }[];
  /**
   * Partners with an active endpoint that fails now, and for how many milliseconds, the longest first: few enough for a
   * series each.
   */
  readonly failing: readonly { readonly partnerId: string; readonly failingMs: number }[];
}

/** The sources of figures that are read at each scrape. */
export interface MetricSources {
  /** Attempts in flight in this process. */
  readonly inFlight: () => number;
  /** Returns one entry for each system. */
  readonly backlog: () => Promise<readonly SystemBacklog[]>;
  /** Called when the backlog could not be read. */
  readonly onError: (error: unknown) => void;
}
