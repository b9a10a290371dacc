import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { MailOutcome } from "../../outbound/mail/outbox.ts";
import type { AttemptFailure, PauseCause, Warning } from "../../webhooks/rules/after-attempt.ts";
import { countBy } from "./counters.ts";
import type { CountedResult, MailMetrics, MetricSources, SystemBacklog, WebhookMetrics } from "./metrics.ts";
import { readInTime } from "./sampled-metrics.ts";

/* The metrics of webhooks and mails. */

/**
 * Upper bounds in seconds, dense where a healthy receiver answers. An attempt is cut off shortly after 15 s, so the bounds
 * 14 and 16 separate slow responses from missing ones.
 */
const DURATION_BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 14, 16];
/** Seconds. Dense below the promised 0.2 s, and up to an hour's backlog. */
const WAIT_BUCKETS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 15, 60, 300, 1_800, 3_600];

/**
 * Each label value is a series, so there must be few: these, and `other`. An object, so that the compiler finds a failure
 * that is missing here.
 */
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
  const metrics = registerWebhooks(registry);
  beginAtZero(metrics);
  const { attempts, durations, waits, ...counters } = metrics;
  return {
    claimed(deliveries) {
      counters.claims.inc();
      counters.claimedDeliveries.inc(deliveries);
    },
    attemptStarted: (waitedMs, queue) => waits.observe({ queue }, Math.max(0, waitedMs) / 1_000),
    resultsWritten(written, stale) {
      counters.resultBatches.inc();
      counters.results.inc(written.length);
      counters.staleResults.inc(stale);
      for (const { result, statusChange, warning } of written) {
        attempts.inc({ outcome: result.outcome, failure: failureClass(result) });
        if (result.total_ms !== null) durations.observe({ outcome: result.outcome }, result.total_ms / 1_000);
        if (statusChange === "active") counters.recoveries.inc();
        else if (statusChange !== null) counters.pause(statusChange);
        if (warning !== null) counters.warn(warning);
      }
    },
    orphansWritten(orphans) {
      counters.takeovers.inc();
      attempts.inc({ outcome: "unknown", failure: "none" }, orphans);
    },
    setAside: (_systemId, { length }) => counters.setAside.inc(length),
  };
}

/** Starts all series at zero: otherwise a rate or an alert on growth would miss the first event of each kind. */
function beginAtZero({ attempts, durations, waits }: ReturnType<typeof registerWebhooks>): void {
  attempts.inc({ outcome: "succeeded", failure: "none" }, 0);
  attempts.inc({ outcome: "unknown", failure: "none" }, 0);
  for (const failure of ["http_3xx", "http_4xx", "http_410", "http_5xx"])
    attempts.inc({ outcome: "rejected", failure }, 0);
  for (const failure of FAILURES) attempts.inc({ outcome: "failed", failure }, 0);
  for (const outcome of ["succeeded", "rejected", "failed"]) durations.zero({ outcome });
  for (const queue of ["regular", "replay"]) waits.zero({ queue });
}

/** Returns the failure of a result as a label with few values: the failure's code in the log, or the class of the status. */
function failureClass({ outcome, failure, status }: CountedResult): string {
  if (outcome === "failed") return failure !== null && FAILURES.has(failure) ? failure : "other";
  if (outcome !== "rejected") return "none";
  return status === 410 ? "http_410" : `http_${Math.floor((status ?? 0) / 100)}xx`;
}

function registerWebhooks(registry: Registry) {
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name: `bikeshare_webhook_${name}`, help, labelNames, registers });
  return {
    attempts: counter("attempts_total", "Attempts that have ended, by outcome and class of failure.", [
      "outcome",
      "failure",
    ]),
    durations: new Histogram({
      name: "bikeshare_webhook_attempt_duration_seconds",
      help: "How long attempts took, from the name look-up to the last byte of the response.",
      labelNames: ["outcome"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    waits: new Histogram({
      name: "bikeshare_webhook_attempt_wait_seconds",
      help: "Time from when an attempt was due until it began.",
      labelNames: ["queue"],
      buckets: WAIT_BUCKETS,
      registers,
    }),
    claims: counter("claims_total", "Batches of deliveries claimed."),
    claimedDeliveries: counter("claimed_deliveries_total", "Deliveries claimed, in all batches."),
    resultBatches: counter("result_batches_total", "Batches of results written."),
    results: counter("results_total", "Results written, in all batches."),
    staleResults: counter("stale_results_total", "Results of attempts that another process had written as unknown."),
    takeovers: counter("takeovers_total", "Times that the attempts of an ended process were written as unknown."),
    setAside: counter("set_aside_total", "Deliveries given up because they ended one process after the other."),
    pause: countBy(registry, "webhook_pauses_total", "Endpoints paused because of their responses.", "reason", PAUSES),
    recoveries: counter("recoveries_total", "Endpoints active again after a probe."),
    warn: countBy(
      registry,
      "webhook_warnings_total",
      "Warnings due to partners, by percent of the way to a pause.",
      "percent",
      WARNINGS,
    ),
  };
}

const MAIL_OUTCOMES: readonly MailOutcome[] = ["sent", "postponed", "refused", "expired", "unaddressed"];

/** Adds the metrics of mails to a registry. */
export function createMailMetrics(registry: Registry): MailMetrics {
  const help = "by what became of a try or of the mail.";
  const count = (name: string, which: string) => countBy(registry, name, `${which}, ${help}`, "outcome", MAIL_OUTCOMES);
  return {
    mailed: count("webhook_mails_total", "Mails about failing endpoints"),
    operatorMailed: count("operator_mails_total", "Mails to the operator"),
  };
}

/** Gauges that are updated only when they are read. */
interface BacklogMetrics {
  /** Updates the figures. Never rejects: figures that cannot be read are left out, and the failure is counted. */
  refresh(sources: MetricSources): Promise<void>;
}

/**
 * Adds the figures of waiting deliveries and mails, and of endpoints, to a registry.
 * @param timeoutMs milliseconds that reading the backlog may take
 */
export function createBacklogMetrics(registry: Registry, timeoutMs: number): BacklogMetrics {
  const { inFlight, failures, ...gauges } = registerBacklog([registry]);
  return {
    async refresh(sources) {
      inFlight.set(sources.inFlight());
      try {
        show(await readInTime("The backlog", sources.backlog(), timeoutMs));
      } catch (error) {
        // Removes the figures of an earlier scrape, which would be taken for current ones.
        for (const gauge of Object.values(gauges)) gauge.reset();
        failures.inc();
        sources.onError(error);
      }
    },
  };

  function show(systems: readonly SystemBacklog[]): void {
    for (const gauge of Object.values(gauges)) gauge.reset();
    for (const { systemId: system, ...figures } of systems) {
      gauges.pending.set({ system }, figures.pending);
      gauges.oldestDue.set({ system }, (figures.oldestDueMs ?? 0) / 1_000);
      gauges.held.set({ system }, figures.held);
      gauges.stranded.set({ system }, figures.stranded);
      gauges.waitingMails.set({ system }, figures.waitingMails);
      gauges.workers.set({ system }, figures.workers);
      for (const [status, count] of Object.entries(figures.endpoints)) gauges.endpoints.set({ system, status }, count);
      for (const { partnerId: partner, bytes } of figures.logs) gauges.logBytes.set({ system, partner }, bytes);
      for (const { partnerId: partner, failingMs } of figures.failing) {
        gauges.failing.set({ system, partner }, failingMs / 1_000);
      }
    }
  }
}

function registerBacklog(registers: Registry[]) {
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `bikeshare_webhook_${name}`, help, labelNames, registers });
  return {
    inFlight: gauge("attempts_in_flight", "Attempts in flight in this process."),
    pending: gauge("pending_deliveries", "Deliveries that are due now or later, or being sent.", ["system"]),
    oldestDue: gauge("oldest_due_age_seconds", "For how long the oldest due delivery has been due.", ["system"]),
    held: gauge("held_deliveries", "Deliveries held, at paused endpoints or since.", ["system"]),
    stranded: gauge("stranded_deliveries", "Deliveries held at endpoints that are not paused, which nobody sends.", [
      "system",
    ]),
    waitingMails: gauge("waiting_mails", "Mails about failing endpoints that are not sent yet.", ["system"]),
    workers: gauge("workers", "Worker processes that are alive.", ["system"]),
    endpoints: gauge("endpoints", "Endpoints by status.", ["system", "status"]),
    logBytes: gauge("log_bytes", "Bytes of requests and answers in the log of attempts, of the partners with most.", [
      "system",
      "partner",
    ]),
    failing: gauge(
      "endpoint_failing_seconds",
      "For how long a partner's active endpoint has answered nothing with success.",
      ["system", "partner"],
    ),
    failures: new Counter({
      name: "bikeshare_metrics_failures_total",
      help: "Scrapes at which the backlog could not be read, so that its figures are missing.",
      registers,
    }),
  };
}
