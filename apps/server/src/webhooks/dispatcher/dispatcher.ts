import { systemsOf } from "../../city/systems/service.ts";
import type { Ids } from "../../ids.ts";
import { startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import type { Sender } from "../sender/sender.ts";
import type { DispatchObserver, InFlight } from "./attempt-runner.ts";
import { LEASE_TIMEOUTS, type LeaseTimeouts } from "./lane-keeper.ts";
import type { RecordFailures } from "./result-writer.ts";
import { createSuspectSlots, SystemDispatcher } from "./system-dispatcher.ts";

/** Sends the deliveries of all systems. Any number of processes may have one: they share the lanes. */
export interface Dispatcher {
  /** Something of a system may be due. To be called with each message on the channel `event_outbox`. */
  wake(systemId: string): void;
  /** An endpoint of a system has changed. To be called with each message on the channel `webhook_endpoints`. */
  reload(systemId: string): void;
  /** Attempts in flight in this process. */
  inFlight(): number;
  /** Begins nothing more, lets attempts in flight end, writes their results, and leaves the rest to others. */
  close(): Promise<void>;
}

export interface DispatcherOptions {
  readonly connectionString: string;
  readonly sender: Sender;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  readonly ids: Ids;
  readonly userAgent: string;
  readonly loadEndpoints: (db: Database, systemId: string) => Promise<readonly DispatchEndpoint[]>;
  readonly queueReplays: (db: Database, systemId: string) => Promise<number>;
  readonly recordFailures: RecordFailures;
  readonly observe: DispatchObserver;
  readonly onError: (error: unknown) => void;
  readonly timeouts?: LeaseTimeouts;
  /** Learns how the cycles of all systems go. */
  readonly watch?: WorkWatch | undefined;
}

/** Milliseconds between two checks for new systems. */
const SYSTEMS_INTERVAL_MS = 5_000;
/** One to claim, one to write results, one for whatever a second system does meanwhile. */
const CONNECTIONS = 3;
/**
 * Settings that make the dispatcher's statements use an index. Its queue tables change so fast that PostgreSQL's estimate
 * of their size is always wrong, and a plan made for an empty table must not scan a full one later. Without sorting, the
 * requested order decides the index.
 */
export const BY_INDEX =
  "-c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c enable_sort=off " +
  "-c enable_incremental_sort=off -c jit=off";

/** Starts sending. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const db = openDatabase({
    connectionString: options.connectionString,
    maxConnections: CONNECTIONS,
    sessionOptions: BY_INDEX,
    onConnectionLost: options.onError,
  });
  const worker = options.ids.next("worker");
  const inFlight: InFlight = { count: 0 };
  const suspects = createSuspectSlots();
  const systems = new Map<string, SystemDispatcher>();
  let isClosed = false;

  const open = (systemId: string) =>
    new SystemDispatcher({
      ...options,
      db,
      systemId,
      worker,
      inFlight,
      suspects,
      timeouts: options.timeouts ?? LEASE_TIMEOUTS,
      random: () => options.ids.random(),
      loadEndpoints: () => options.loadEndpoints(db, systemId),
      queueReplays: () => options.queueReplays(db, systemId),
    });
  const openNewSystems = async () => {
    for (const { system_id: systemId } of await systemsOf(db)) {
      if (!isClosed && !systems.has(systemId)) systems.set(systemId, open(systemId));
    }
  };
  const opening = startPeriodic({
    intervalMs: SYSTEMS_INTERVAL_MS,
    work: openNewSystems,
    onError: options.onError,
    immediately: true,
  });

  return {
    wake: (systemId) => systems.get(systemId)?.wake(),
    reload: (systemId) => systems.get(systemId)?.reload(),
    inFlight: () => inFlight.count,
    async close() {
      isClosed = true;
      await opening.close();
      await Promise.all([...systems.values()].map((system) => system.close().catch(options.onError)));
      await options.sender.close();
      await db.close();
    },
  };
}
