import type { Database } from "../../src/storage/db/database.ts";
import { LEASE_TIMEOUTS } from "../../src/webhooks/dispatcher/lanes.ts";
import { createSuspectSlots, SystemDispatcher } from "../../src/webhooks/dispatcher/system-dispatcher.ts";
import { loadEndpoints } from "../../src/webhooks/endpoints/dispatch-endpoints.ts";
import { queueReplays } from "../../src/webhooks/log/resend.ts";
import { type DispatchHarness, silent } from "./dispatcher.harness.ts";
import { createGate, type Gate, readRequest } from "./far.ts";
import { createFragileDatabase, type FragileDatabase } from "./fragile-database.ts";

/** The dispatcher of one system, in a simulated process that can die, with its own scripted receiver. */
export interface Process {
  readonly dispatcher: SystemDispatcher;
  readonly db: FragileDatabase;
  /** Requests wait here for their response. */
  readonly gate: Gate;
  /**
   * The number of reads of the endpoint's settings that have begun. `finished`: the last of them after which the replays
   * were queued, too.
   */
  readonly reads: { begun: number; finished: number };
  /** The numbers of started attempts, written results, and refused results. */
  readonly count: { sent: number; written: number; stale: number };
  /** The ids of deliveries that it has set aside because they ended several processes in a row. */
  readonly setAside: readonly string[];
}

/** The "random" number of every attempt, which is fixed. */
export const CHANCE = 0.5;

/** Starts a process. @param shared connections that their owner closes */
export function startProcess(harness: DispatchHarness, shared: Database, systemId: string): Process {
  const db = createFragileDatabase(shared);
  const gate = createGate();
  const reads = { begun: 0, finished: 0 };
  const setAside: string[] = [];
  const count = { sent: 0, written: 0, stale: 0 };
  const dispatcher = new SystemDispatcher({
    db,
    systemId,
    isSandbox: false,
    worker: harness.ids.next("worker"),
    sender: { send: (request) => gate.wait(readRequest(request)), close: () => Promise.resolve() },
    clock: harness.clock,
    monotonic: () => performance.now(),
    random: () => CHANCE,
    userAgent: "test",
    inFlight: { count: 0 },
    suspects: createSuspectSlots(),
    timeouts: LEASE_TIMEOUTS,
    recordFailures: () => Promise.resolve(),
    loadEndpoints() {
      reads.begun++;
      return loadEndpoints({ db, cipher: harness.cipher }, systemId);
    },
    queueReplays() {
      reads.finished = reads.begun;
      return queueReplays({ db, clock: harness.clock }, systemId);
    },
    observe: {
      ...silent,
      setAside: (_systemId, ids) => void setAside.push(...ids),
      attemptStarted: () => void count.sent++,
      resultsWritten(attempts, stale) {
        count.written += attempts.length;
        count.stale += stale;
      },
    },
    // Ignores errors, because the test causes them. A bug shows in the comparison afterwards.
    onError: () => undefined,
  });
  return { dispatcher, db, gate, reads, count, setAside };
}
