import { Counter, Gauge, type Registry } from "prom-client";
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

/** What waits in one system. */
export interface SystemBacklog {
  readonly systemId: string;
  /** Deliveries due now or later, and those under way. */
  readonly pending: number;
  /** Milliseconds for which the oldest of those that are due has been so; null: none is due. */
  readonly oldestDueMs: number | null;
  /** Deliveries held, at paused endpoints or since. */
  readonly held: number;
  /** Of them those at endpoints that are not paused, which nobody sends. */
  readonly stranded: number;
  readonly endpoints: { readonly active: number; readonly probing: number; readonly paused: number };
  /** Mails about failing endpoints that are not sent yet. */
  readonly waitingMails: number;
  /** Worker processes that are alive. */
  readonly workers: number;
  /** Bytes of the log of attempts by partner, the largest first: few enough for a series each. */
  readonly logs: readonly { readonly partnerId: string; readonly bytes: number }[];
  /** Endpoints that fail now and for how many milliseconds, the longest first: few enough for a series each. */
  readonly failing: readonly { readonly partnerId: string; readonly failingMs: number }[];
}

/** Where the figures come from that are read at each scrape. */
export interface MetricSources {
  /** Attempts in flight in this process. */
  readonly inFlight: () => number;
  /** One entry a system. */
  readonly backlog: () => Promise<readonly SystemBacklog[]>;
  /** Called when the backlog could not be read. */
  readonly onError: (error: unknown) => void;
}

/** Figures that are true when they are read, and not kept in between. */
interface BacklogMetrics {
  /** Brings the figures up to date. Never rejects: what cannot be read is left out, and counted. */
  refresh(sources: MetricSources): Promise<void>;
}

/**
 * Adds the figures to a registry.
 * @param timeoutMs milliseconds that reading the backlog may take
 */
export function createBacklogMetrics(registry: Registry, timeoutMs: number): BacklogMetrics {
  const { inFlight, failures, ...gauges } = register([registry]);
  return {
    async refresh(sources) {
      inFlight.set(sources.inFlight());
      try {
        show(await within(timeoutMs, sources.backlog()));
      } catch (error) {
        // A figure of an earlier scrape would be taken for a current one.
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

function register(registers: Registry[]) {
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

async function within<Value>(milliseconds: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The backlog was not read within ${milliseconds} ms.`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
