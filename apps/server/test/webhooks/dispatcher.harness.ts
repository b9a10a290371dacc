import type { EventName } from "@bikeshare/contract";
import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { recordEvents } from "../../src/events/outbox.ts";
import { createIds, type Ids } from "../../src/ids.ts";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { createPartner } from "../../src/partners/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import type { DispatchObserver } from "../../src/webhooks/dispatcher/attempt-runner.ts";
import { loadEndpoints } from "../../src/webhooks/endpoints/dispatch-endpoints.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher, type SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { queueReplays } from "../../src/webhooks/log/resend.ts";
import { type Dispatcher, type DispatcherOptions, startDispatcher } from "../../src/webhooks/worker.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { until } from "../until.ts";
import { createFar, type Far } from "./far.ts";

/** A database with partners, a clock that the test sets, scripted receivers, and any number of dispatchers. */
export interface DispatchHarness extends TestDatabase {
  readonly clock: TestClock;
  readonly ids: Ids;
  readonly actor: string;
  readonly cipher: SecretCipher;
  readonly far: Far;
  /** Creates a partner and its endpoint. */
  endpoint(options?: {
    readonly url?: string;
    readonly systemId?: string;
    readonly event?: EventName;
  }): Promise<HarnessEndpoint>;
  /** Commits events a millisecond apart, and wakes the workers. Default event: `ride.started`. */
  happen(n?: number, options?: { readonly systemId?: string; readonly event?: EventName }): Promise<void>;
  /** Starts a dispatcher. */
  worker(changes?: Partial<DispatcherOptions>): HarnessWorker;
  /** Notifies all workers that something may be due. */
  wake(): void;
  /** Notifies all workers that an endpoint has changed. */
  reload(): void;
  /** Makes all leases expire, and all workers count as dead until their next heartbeat. */
  expireLeases(): Promise<void>;
  deliveries(endpointId?: string): Promise<DeliveryState[]>;
  attempts(endpointId?: string): Promise<LoggedAttempt[]>;
  /** Waits until the queue has no deliveries of an endpoint. */
  drained(endpointId?: string, bound?: number): Promise<void>;
  /** Runs a statement of the test. @returns its rows; `$1` is the system */
  rows<Row>(sql: string, ...values: unknown[]): Promise<Row[]>;
}

export interface HarnessEndpoint {
  readonly id: string;
  readonly partnerId: string;
  readonly url: string;
  readonly secret: string;
}

interface HarnessWorker extends Dispatcher {
  readonly errors: readonly unknown[];
  /** Returns the number of results that were refused, because another worker had taken over the lane. */
  stale(): number;
  /** Returns the number of orphans: deliveries that dead workers had claimed. */
  orphans(): number;
}

interface DeliveryState {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly due_at: Date | null;
  readonly claim: number | null;
}

interface LoggedAttempt {
  readonly delivery_id: string;
  readonly number: number;
  readonly outcome: string;
  readonly status: number | null;
  readonly started_at: Date;
  readonly next_attempt_at: Date | null;
  readonly next_attempt_reason: string | null;
  readonly request_headers: string | null;
  readonly request_body: string | null;
}

/** Address rules with which dispatchers of tests may call this machine. */
export const loopback = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };

const newDeliveries = `select delivery.id, delivery.status, delivery.attempts, due.due_at, due.claim
  from webhook_deliveries delivery
  left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id
  where delivery.system_id = $1 and ($2::text is null or delivery.endpoint_id = $2)
  order by delivery.created_at, delivery.id`;
const allAttempts = `select delivery_id, number, outcome, status, started_at, next_attempt_at, next_attempt_reason, request_headers,
    request_body
  from webhook_attempts where system_id = $1 and ($2::text is null or endpoint_id = $2)
  order by delivery_id, number`;
const queueLength = `select count(*) as n from webhook_queue where system_id = $1 and ($2::text is null or endpoint_id = $2)`;

export async function openDispatchHarness(): Promise<DispatchHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const clock = createTestClock();
  const ids = { ...createIds(clock), random: () => 0.5 };
  const context = { db, clock, ids, actor: "test", rules: loopback, cipher: createSecretCipher([encryptionKey]) };
  const far = createFar();
  const workers: HarnessWorker[] = [];
  let happened = 0;
  let partners = 0;
  const wake = () => {
    for (const worker of workers) worker.wake(systemId);
  };
  return {
    ...database,
    ...context,
    ...tablesOf(database),
    far,
    wake,
    reload() {
      for (const worker of workers) worker.reload(systemId);
    },
    async endpoint({ systemId: of = systemId, url, event = "ride.started" } = {}) {
      const { id: partnerId } = await createPartner(context, of, `Partner ${++partners}`);
      const given = { systemId: of, partnerId, url: url ?? `http://127.0.0.1/${partnerId}`, events: [event] };
      const { endpoint, secret } = await setEndpoint(context, given);
      if (secret === null) throw new Error("a new endpoint comes with its secret");
      return { id: endpoint.id, partnerId, url: endpoint.url, secret };
    },
    async happen(n = 1, { systemId: of = systemId, event: name = "ride.started" } = {}) {
      for (let made = 0; made < n; made++) {
        const now = new Date(clock());
        const data = `{"n":${happened++}}`;
        const event = { name, occurredAt: now, partnerId: null, data };
        await db.transaction((tx) => recordEvents(tx, { ids, systemId: of, now }, [event]));
        clock.advance(1);
      }
      for (const worker of workers) worker.wake(of);
    },
    worker(changes) {
      const worker = startWorker({ ...context, far }, changes);
      workers.push(worker);
      return worker;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await database.close();
    },
  };
}

function tablesOf({
  db,
  systemId,
}: TestDatabase): Pick<DispatchHarness, "rows" | "expireLeases" | "deliveries" | "attempts" | "drained"> {
  const rows = <Row>(sql: string, ...values: unknown[]) => db.query<Row>(statement("", sql), [systemId, ...values]);
  return {
    rows,
    async expireLeases() {
      await rows("update webhook_lanes set leased_until = now() - interval '1 s' where system_id = $1");
      await rows("update webhook_workers set alive_until = now() - interval '1 s' where system_id = $1");
    },
    deliveries: (endpointId) => rows<DeliveryState>(newDeliveries, endpointId ?? null),
    attempts: (endpointId) => rows<LoggedAttempt>(allAttempts, endpointId ?? null),
    async drained(endpointId, bound) {
      await until(async () => (await rows<{ n: number }>(queueLength, endpointId ?? null))[0]?.n === 0, bound);
    },
  };
}

const encryptionKey = { id: 1, key: Buffer.alloc(32, 7) };

function startWorker(
  { db, clock, ids, cipher, far }: Pick<DispatchHarness, "db" | "clock" | "ids" | "cipher" | "far">,
  changes: Partial<DispatcherOptions> = {},
): HarnessWorker {
  const errors: unknown[] = [];
  let stale = 0;
  let orphans = 0;
  const dispatcher = startDispatcher({
    connectionString: db.connectionString,
    sender: far.sender(),
    clock,
    monotonic: () => performance.now(),
    ids,
    userAgent: "test",
    loadEndpoints: (on, systemId) => loadEndpoints({ db: on, cipher }, systemId),
    queueReplays: (on, systemId) => queueReplays({ db: on, clock }, systemId),
    recordFailures: () => Promise.resolve(),
    observe: {
      ...silent,
      resultsWritten: (_attempts, late) => void (stale += late),
      orphansWritten: (deliveries) => void (orphans += deliveries),
    },
    onError: (error) => void errors.push(error),
    ...changes,
  });
  return { ...dispatcher, errors, stale: () => stale, orphans: () => orphans };
}

/** An observer that does nothing. */
export const silent: DispatchObserver = {
  claimed: () => undefined,
  attemptStarted: () => undefined,
  resultsWritten: () => undefined,
  orphansWritten: () => undefined,
  setAside: () => undefined,
};
