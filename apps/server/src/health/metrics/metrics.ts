import type { MetricSources } from "./backlog-metrics.ts";
import type { HttpMetrics } from "./http-metrics.ts";
import type { MailMetrics, WebhookMetrics } from "./webhook-metrics.ts";

/** What the process counts. */
export interface Metrics {
  /** Counts what the dispatcher does. */
  readonly webhooks: WebhookMetrics;
  /** Counts the mails about failing endpoints. */
  readonly mails: MailMetrics;
  /** Counts what becomes of requests. */
  readonly http: HttpMetrics;
  /** Says where the figures come from that are read at each scrape; without it they are left out. */
  watch(sources: MetricSources): void;
}

const ignore = () => undefined;

/** Stands for metrics where none are served: nothing is counted, and the library that counts is not loaded. */
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
