import { Counter, Histogram, type Registry } from "prom-client";
import type { PauseCause, Warning } from "../webhooks/rules/endpoint-health.ts";
import type { AttemptFailure } from "../webhooks/sender/attempt.ts";

/** An attempt that has ended and been written down, as far as it is counted. */
export interface CountedAttempt {
  readonly outcome: "succeeded" | "rejected" | "failed" | "unknown";
  /** The failure's code in the log. */
  readonly failure: string | null;
  readonly status: number | null;
  readonly total_ms: number | null;
}

/** An attempt's end, with what it meant for its endpoint. */
export interface CountedEnding {
  readonly settled: CountedAttempt;
  /** What the endpoint becomes by it: `active` again, or paused for a reason. */
  readonly change: "active" | PauseCause | null;
  readonly warn: Warning | null;
}

/** Counts what the dispatcher does. */
export interface WebhookMetrics {
  /** A batch of deliveries was claimed. */
  claimed(deliveries: number): void;
  /**
   * An attempt begins.
   * @param waited milliseconds since it was due
   * @param line what happens now, or what is sent again on request
   */
  sent(waited: number, line: "live" | "replay"): void;
  /** A batch of results was written. @param stale those that a later holder of the lane had written off already */
  settled(endings: readonly CountedEnding[], stale: number): void;
  /** Deliveries of a holder that had ended were written off as unknown. */
  tookOver(orphans: number): void;
}

/**
 * Seconds. Dense where a healthy receiver answers. An attempt may take 15 s, and one that is cut then is seen to end a
 * little later: hence 14 and 16, which part slow answers from none.
 */
const DURATIONS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 14, 16];
/** Seconds. Dense below the 0.2 s that are promised, and up to an hour's backlog. */
const WAITS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60, 300, 1_800, 3_600];

/** Every label of its own is a series, so that there must be few: these, and `other`. */
const FAILURES: ReadonlySet<string> = new Set(
  Object.keys({
    url_refused: true,
    address_refused: true,
    dns: true,
    dns_timeout: true,
    connect_refused: true,
    connect_timeout: true,
    connect: true,
    tls: true,
    timeout: true,
    body_timeout: true,
    reset: true,
    stale_connection: true,
    protocol: true,
    headers_too_large: true,
    too_many_informational: true,
  } satisfies Record<AttemptFailure, true>),
);
const PAUSES = ["failing", "gone", "probe_failed"] as const satisfies readonly PauseCause[];
const WARNINGS = [25, 50, 100] as const satisfies readonly Warning[];

/** Adds the dispatcher's metrics to a registry. */
export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const metrics = register([registry]);
  beginAtZero(metrics);
  const { attempts, durations, waits, ...counters } = metrics;
  return {
    claimed(deliveries) {
      counters.claims.inc();
      counters.claimedDeliveries.inc(deliveries);
    },
    sent: (waited, line) => waits.observe({ line }, Math.max(0, waited) / 1_000),
    settled(endings, stale) {
      counters.settlements.inc();
      counters.settledResults.inc(endings.length);
      counters.staleResults.inc(stale);
      for (const { settled, change, warn } of endings) {
        attempts.inc({ outcome: settled.outcome, failure: failureClass(settled) });
        if (settled.total_ms !== null) durations.observe({ outcome: settled.outcome }, settled.total_ms / 1_000);
        if (change === "active") counters.recoveries.inc();
        else if (change !== null) counters.pauses.inc({ reason: change });
        if (warn !== null) counters.warnings.inc({ percent: warn });
      }
    },
    tookOver(orphans) {
      counters.takeovers.inc();
      attempts.inc({ outcome: "unknown", failure: "none" }, orphans);
    },
  };
}

/** Without a zero to begin at, a rate or an alert on growth would miss the first of each kind. */
function beginAtZero({ attempts, durations, waits, pauses, warnings }: ReturnType<typeof register>): void {
  attempts.inc({ outcome: "succeeded", failure: "none" }, 0);
  attempts.inc({ outcome: "unknown", failure: "none" }, 0);
  for (const failure of ["http_3xx", "http_4xx", "http_410", "http_5xx"])
    attempts.inc({ outcome: "rejected", failure }, 0);
  for (const failure of FAILURES) attempts.inc({ outcome: "failed", failure }, 0);
  for (const outcome of ["succeeded", "rejected", "failed"]) durations.zero({ outcome });
  for (const line of ["live", "replay"]) waits.zero({ line });
  for (const reason of PAUSES) pauses.inc({ reason }, 0);
  for (const percent of WARNINGS) warnings.inc({ percent }, 0);
}

/** What went wrong, coarsely enough to be a label: the log's code, or the hundred that the status is of. */
function failureClass({ outcome, failure, status }: CountedAttempt): string {
  if (outcome === "failed") return failure !== null && FAILURES.has(failure) ? failure : "other";
  if (outcome !== "rejected") return "none";
  return status === 410 ? "http_410" : `http_${Math.floor((status ?? 0) / 100)}xx`;
}

function register(registers: Registry[]) {
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `bikeshare_webhook_${name}`, help, labelNames, registers });
  return {
    attempts: counter("attempts_total", "Attempts that have ended, by outcome and class of failure.", [
      "outcome",
      "failure",
    ]),
    durations: new Histogram({
      name: "bikeshare_webhook_attempt_duration_seconds",
      help: "How long attempts took, from the look-up of the name to the answer's last byte.",
      labelNames: ["outcome"],
      buckets: DURATIONS,
      registers,
    }),
    waits: new Histogram({
      name: "bikeshare_webhook_due_to_sent_seconds",
      help: "Time between an attempt's being due and its beginning.",
      labelNames: ["line"],
      buckets: WAITS,
      registers,
    }),
    claims: counter("claims_total", "Batches of deliveries claimed."),
    claimedDeliveries: counter("claimed_deliveries_total", "Deliveries claimed, in all batches."),
    settlements: counter("settlements_total", "Batches of results written."),
    settledResults: counter("settled_results_total", "Results written, in all batches."),
    staleResults: counter("stale_results_total", "Results that came after another process had written them off."),
    takeovers: counter("takeovers_total", "Times that what an ended process had in flight was written off."),
    pauses: counter("pauses_total", "Endpoints paused by the way they answered.", ["reason"]),
    recoveries: counter("recoveries_total", "Endpoints active again after a probe."),
    warnings: counter("warnings_total", "Warnings due to partners, by percent of the way to a pause.", ["percent"]),
  };
}
