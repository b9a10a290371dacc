import { type SystemAtWork, systemsAtWork, systemsOf } from "../city/systems/service.ts";
import type { Conditions } from "../health/conditions/conditions.ts";
import type { Metrics, SystemBacklog } from "../health/metrics/metrics.ts";
import type { TracedAttempt, Tracer } from "../health/tracing/tracer.ts";
import type { Ids } from "../ids.ts";
import type { Mailer } from "../outbound/mail/mailer.ts";
import { Coalescer } from "../storage/background/coalescer.ts";
import type { WorkWatch } from "../storage/background/work-watch.ts";
import { type Database, openDatabase, type Queryable } from "../storage/db/database.ts";
import { dayOf, oldestKept } from "../storage/partitions/partition.rules.ts";
import type { DispatchObserver, InFlight } from "./dispatcher/attempt-runner.ts";
import { LEASE_TIMEOUTS, type LeaseTimeouts } from "./dispatcher/lanes.ts";
import type { CompletedAttempt, RecordFailures } from "./dispatcher/result-writer.ts";
import { createSuspectSlots, POLL_INTERVAL_MS, SystemDispatcher } from "./dispatcher/system-dispatcher.ts";
import { type DispatchEndpoint, loadEndpoints } from "./endpoints/dispatch-endpoints.ts";
import { recordServiceKey } from "./endpoints/endpoint-secrets.ts";
import type { SecretCipher } from "./endpoints/secret.ts";
import { queueReplays } from "./log/resend.ts";
import { countBacklog, listFailingPartners } from "./queue/backlog-queries.ts";
import { listLargestLogs } from "./queue/log-size-queries.ts";
import { SILENCE_MS } from "./rules/after-attempt.ts";
import type { AddressRules } from "./rules/receiver-url.ts";
import { createFaultySender, type DeliveryFaults } from "./sender/faulty-sender.ts";
import { createSender, type Sender } from "./sender/sender.ts";
import { createMailLimiter, logFailures, recordFailureMails, startMailOutbox } from "./warnings/failure-mail.ts";

/*
 * Sends webhooks from this process. `startDispatcher` runs one `SystemDispatcher` for each system in use.
 * `startWebhookWorker` connects it with the settings, mails, metrics and the log. `readBacklog`, at the end, reads the numbers
 * for the metrics.
 */

/**
 * Sends the deliveries of all systems. Any number of processes may have one: they share the lanes, which are the deliveries
 * of one endpoint each.
 */
export interface Dispatcher {
  /** Looks for due deliveries of a system. Call it for each message on the channel `event_outbox`. */
  wake(systemId: string): void;
  /** Reloads the endpoints of a system. Call it for each message on the channel `webhook_endpoints`. */
  reload(systemId: string): void;
  /** Attempts in flight in this process. */
  inFlight(): number;
  /**
   * Starts no more attempts, waits for those in flight, writes their results, and leaves the other deliveries to other
   * processes.
   */
  close(): Promise<void>;
}

/** What `startDispatcher` needs. `startWebhookWorker` composes it; tests compose their own. */
export interface DispatcherOptions {
  readonly connectionString: string;
  readonly sender: Sender;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  readonly ids: Ids;
  readonly userAgent: string;
  /** Loads every endpoint of a system, with its secrets. */
  readonly loadEndpoints: (db: Database, systemId: string) => Promise<readonly DispatchEndpoint[]>;
  /** Queues the next deliveries of a system's replays. @returns how many */
  readonly queueReplays: (db: Database, systemId: string) => Promise<number>;
  readonly recordFailures: RecordFailures;
  readonly observe: DispatchObserver;
  readonly onError: (error: unknown) => void;
  readonly timeouts?: LeaseTimeouts;
  /** Watches the dispatch cycles of all systems for failures and hangs. */
  readonly watch?: WorkWatch | undefined;
}

/** Milliseconds between two checks for new systems, and for sandboxes that nobody uses any more. */
const SYSTEMS_INTERVAL_MS = 5_000;
/** Minimum milliseconds between two checks that notifications cause. Too low: a burst of them costs the database. */
const FOLLOW_PAUSE_MS = 50;
/**
 * Database connections that the dispatchers of a process share: one to claim, one to write results, one for another system
 * meanwhile.
 */
const CONNECTIONS = 3;
/**
 * Settings that make the dispatcher's statements use an index. Its queue tables change so fast that PostgreSQL's estimate
 * of their size is always wrong, and a plan made for an empty table must not scan a full one later. Without sorting, the
 * requested order decides the index.
 */
export const BY_INDEX =
  "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_sort=off " +
  "-c enable_incremental_sort=off -c jit=off";

/** Starts to send the deliveries of all systems in this process. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const db = openDatabase({
    connectionString: options.connectionString,
    maxConnections: CONNECTIONS,
    sessionOptions: BY_INDEX,
    onConnectionLost: options.onError,
  });
  const inFlight: InFlight = { count: 0 };
  const systems = new OpenSystems(db, options, inFlight);
  const opening = new Coalescer({ work: () => systems.follow(), onError: options.onError });
  const timer = setInterval(() => opening.request(), SYSTEMS_INTERVAL_MS);
  opening.request();
  return {
    wake(systemId) {
      const system = systems.get(systemId);
      // A new system, or a sandbox that was asleep, is not open yet.
      if (system === undefined) opening.request();
      else system.wake();
    },
    reload(systemId) {
      systems.get(systemId)?.reload();
      // The sandbox may have other faults now, which `follow` reads.
      if (systems.isSandbox(systemId)) opening.request();
    },
    inFlight: () => inFlight.count,
    async close() {
      clearInterval(timer);
      await opening.close();
      await systems.close();
      await options.sender.close();
      await db.close();
    },
  };
}

function ignore(): void {
  // Deliberately empty: nothing is counted.
}

/** The observer for sandboxes. Their deliveries are left out of the metrics, because they say nothing about the service. */
const UNOBSERVED: DispatchObserver = {
  claimed: ignore,
  attemptStarted: ignore,
  resultsWritten: ignore,
  orphansWritten: ignore,
  setAside: ignore,
};

/** The dispatchers of the systems that this process sends for. */
class OpenSystems {
  readonly #db: Database;
  readonly #options: DispatcherOptions;
  /**
   * What all systems' dispatchers of this process share. `suspects` limits how many suspects, deliveries that may have
   * ended a process, are tried at a time.
   */
  readonly #shared;
  readonly #systems = new Map<string, SystemDispatcher>();
  readonly #faultySenders = new Map<string, Sender>();
  /** The faults to simulate for the deliveries of each sandbox, by the sandbox's system id. */
  readonly #faults = new Map<string, DeliveryFaults | null>();

  constructor(db: Database, options: DispatcherOptions, inFlight: InFlight) {
    this.#db = db;
    this.#options = options;
    this.#shared = { worker: options.ids.next("worker"), inFlight, suspects: createSuspectSlots() };
  }

  get(systemId: string): SystemDispatcher | undefined {
    return this.#systems.get(systemId);
  }

  isSandbox(systemId: string): boolean {
    return this.#faults.has(systemId);
  }

  /**
   * Reads the faults of sandboxes, opens new systems, and closes sandboxes that nobody uses any more: each open system costs
   * some statements a second.
   * @returns the milliseconds to pause afterwards
   */
  async follow(): Promise<number> {
    const atWork = await systemsAtWork(this.#db, this.#options.clock());
    this.#faults.clear();
    for (const { systemId, isSandbox, webhookFaults } of atWork) {
      // They are stored in the contract's form, which `DeliveryFaults` is.
      if (isSandbox) this.#faults.set(systemId, webhookFaults as DeliveryFaults | null);
    }
    for (const system of atWork)
      if (!this.#systems.has(system.systemId)) this.#systems.set(system.systemId, this.#open(system));
    const ids = new Set(atWork.map(({ systemId }) => systemId));
    await this.#close([...this.#systems.keys()].filter((id) => !ids.has(id)));
    return FOLLOW_PAUSE_MS;
  }

  close(): Promise<void> {
    return this.#close([...this.#systems.keys()]);
  }

  async #close(ids: readonly string[]): Promise<void> {
    // Closes the senders of sandboxes first: the delays that they simulate must not keep the service from stopping.
    for (const id of ids) await this.#faultySenders.get(id)?.close();
    const closing = ids.map(async (id) => this.#systems.get(id)?.close().catch(this.#options.onError));
    for (const id of ids) {
      this.#systems.delete(id);
      this.#faultySenders.delete(id);
    }
    await Promise.all(closing);
  }

  #open({ systemId, isSandbox }: SystemAtWork): SystemDispatcher {
    const { sender, clock, ids, timeouts = LEASE_TIMEOUTS, loadEndpoints: load, queueReplays: queue } = this.#options;
    const db = this.#db;
    const faulty = isSandbox ? createFaultySender(sender, () => this.#faults.get(systemId) ?? null, clock) : undefined;
    if (faulty !== undefined) this.#faultySenders.set(systemId, faulty);
    return new SystemDispatcher({
      ...this.#options,
      ...this.#shared,
      ...(faulty !== undefined && {
        sender: faulty,
        observe: UNOBSERVED,
        // Failures in a sandbox are part of a test, so no mail is sent about them.
        recordFailures: () => Promise.resolve(),
      }),
      db,
      systemId,
      isSandbox,
      timeouts,
      random: () => ids.random(),
      loadEndpoints: () => load(db, systemId),
      queueReplays: () => queue(db, systemId),
    });
  }
}

/** The settings of a deployment that sending webhooks needs. */
export interface WebhookSettings {
  readonly rules: AddressRules;
  readonly cipher: SecretCipher;
  readonly metrics: Metrics;
  /** Undefined: the texts of mails are logged. */
  readonly mailer: Mailer | undefined;
  /** The service's version, which receivers see. */
  readonly version: string;
  /** The address of the service at which partners open the dashboard; undefined: mails name none. */
  readonly publicUrl?: string | undefined;
}

interface WebhookWorkerOptions extends WebhookSettings {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  readonly logger: Record<"warn" | "error", (detail: object, message: string) => void>;
  readonly conditions: Conditions;
  readonly tracer?: Tracer | undefined;
}

/**
 * How damaged secrets are logged. The problem counts as solved when no damaged secret was found for `quietMs`. This is
 * longer than the interval between two readings of the endpoints.
 */
const DECRYPTION = { level: "warn", quietMs: 40_000 } as const;

const SET_ASIDE_WARNING =
  "these deliveries are not sent again: each ended three processes in a row, or PostgreSQL rejected its result. Report " +
  "them with the lines of the log before this one; once that is mended, `bikeshare webhooks redeliver` sends them";

function reportSetAside({ logger, metrics }: WebhookWorkerOptions) {
  return (systemId: string, deliveries: readonly string[]) => {
    metrics.webhooks.setAside(systemId, deliveries);
    logger.error({ system: systemId, deliveries }, SET_ASIDE_WARNING);
  };
}

/**
 * Shows the backlog in the metrics.
 * @returns a function to call when the process begins to close: it stops the reports of errors, because the database closes
 * too, and the backlog cannot be read any more
 */
function watchBacklog(
  { db, clock, metrics }: Pick<WebhookWorkerOptions, "db" | "clock" | "metrics">,
  dispatcher: Dispatcher,
  systems: () => Promise<readonly string[]>,
  onError: (error: unknown) => void,
): () => void {
  let reportsErrors = true;
  metrics.watch({
    inFlight: () => dispatcher.inFlight(),
    backlog: async () => Promise.all((await systems()).map((systemId) => readBacklog({ db, clock }, systemId))),
    onError: (error) => {
      if (reportsErrors) onError(error);
    },
  });
  return () => {
    reportsErrors = false;
  };
}

/** Starts sending webhooks from this process. */
export function startWebhookWorker(options: WebhookWorkerOptions): Dispatcher {
  const { db, clock, ids, logger, metrics, mailer, cipher, publicUrl } = options;
  const { failed: onError, watch } = options.conditions.of("sending webhooks");
  const mailing = options.conditions.of("sending mails to partners");
  const decryption = options.conditions.of("decrypting the secrets of webhooks", DECRYPTION);
  // For mails and log lines about failing endpoints.
  const notices = { ids, mayMail: createMailLimiter(), canMail: mailer !== undefined, logger, publicUrl };
  const dispatcher = startDispatcher({
    connectionString: db.connectionString,
    sender: createSender({ rules: options.rules, clock }),
    clock,
    ids,
    monotonic: () => performance.now(),
    userAgent: `bikeshare/${options.version}`,
    loadEndpoints: endpointLoader({ cipher, clock }, (error) => decryption.failed(error)),
    queueReplays: (on, systemId) => queueReplays({ db: on, clock }, systemId),
    recordFailures: (tx, systemId, attempts, now) => recordFailureMails(notices, tx, systemId, attempts, now),
    observe: {
      ...metrics.webhooks,
      resultsWritten: (attempts, stale) => {
        metrics.webhooks.resultsWritten(attempts, stale);
        logFailures(notices, attempts, new Date(clock()));
        options.tracer?.attempted(attempts.map(tracedAttempt));
      },
      setAside: reportSetAside(options),
    },
    onError,
    watch,
  });
  watch.start(POLL_INTERVAL_MS);
  const systems = async () => (await systemsOf(db)).map((system) => system.system_id);
  const outbox = startMailOutbox({
    db,
    clock,
    systems,
    mailer,
    logger,
    onError: mailing.failed,
    watch: mailing.watch,
    observe: metrics.mails.mailed,
  });
  const stopReporting = watchBacklog(options, dispatcher, systems, onError);
  return {
    ...dispatcher,
    async close() {
      stopReporting();
      watch.stop();
      await Promise.all([dispatcher.close(), outbox.close()]);
    },
  };
}

function tracedAttempt({ result }: CompletedAttempt): TracedAttempt {
  const startedAt = result.started_at.getTime();
  return {
    deliveryId: result.delivery_id,
    number: result.number,
    startedAt,
    endedAt: startedAt + (result.total_ms ?? 0),
    outcome: result.outcome,
    failure: result.failure,
    status: result.status,
  };
}

/** Loads a system's endpoints; the first time, records the encryption key of this process's secrets. */
function endpointLoader(
  context: { readonly cipher: SecretCipher; readonly clock: () => number },
  onDamaged: (error: Error) => void,
) {
  const recorded = new Set<string>();
  return async (db: Queryable, systemId: string): Promise<DispatchEndpoint[]> => {
    if (!recorded.has(systemId)) await recordServiceKey(context, db, systemId);
    recorded.add(systemId);
    return loadEndpoints({ db, cipher: context.cipher }, systemId, onDamaged);
  };
}

/** Partners with failing endpoints that the metrics list one by one. Too high: creates time series that nobody reads. */
const SHOWN_FAILING = 20;

/** Partners with the largest logs, whose size the metrics list one by one. */
const SHOWN_LOGS = 20;

/** Returns a system's numbers of deliveries, mails, workers, endpoints and logs, for the metrics. */
export async function readBacklog(
  { db, clock }: { readonly db: Database; readonly clock: () => number },
  systemId: string,
): Promise<SystemBacklog> {
  const now = clock();
  const row = await countBacklog(db, systemId, new Date(now));
  const failing = await listFailingPartners(db, systemId, { since: new Date(now - SILENCE_MS), limit: SHOWN_FAILING });
  const logs = await listLargestLogs(db, systemId, { oldest: oldestKept(dayOf(now)), limit: SHOWN_LOGS });
  return {
    systemId,
    pending: row.pending,
    oldestDueMs: row.oldest_due_at === null ? null : now - row.oldest_due_at.getTime(),
    held: row.held,
    stranded: row.stranded,
    waitingMails: row.waiting_mails,
    workers: row.workers,
    endpoints: { active: row.active, probing: row.probing, paused: row.paused },
    logs: logs.map(({ partner_id: partnerId, bytes }) => ({ partnerId, bytes })),
    failing: failing.map(({ partner_id: partnerId, failing_since: since }) => ({
      partnerId,
      failingMs: now - since.getTime(),
    })),
  };
}
