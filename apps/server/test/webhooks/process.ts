import type { Database } from "../../src/storage/db/database.ts";
import { LEASE_TIMEOUTS } from "../../src/webhooks/dispatcher/lanes.ts";
import { createSuspectSlots, SystemDispatcher } from "../../src/webhooks/dispatcher/system-dispatcher.ts";
import { loadEndpoints } from "../../src/webhooks/endpoints/dispatch-endpoints.ts";
import { queueReplays } from "../../src/webhooks/log/resend.ts";
import { type DispatchHarness, silent } from "./dispatcher.harness.ts";
import { createGate, type Gate, readRequest } from "./far.ts";
import { createFragileDatabase, type FragileDatabase } from "./fragile-database.ts";

/** One system's dispatcher as a process that can die, with a far side of its own. */
export interface Process {
  readonly dispatcher: SystemDispatcher;
  readonly db: FragileDatabase;
  /** Requests wait here for their response. */
  readonly gate: Gate;
  /** How many reads of the endpoint's settings began, and the last of them after which the replays were queued too. */
  readonly reads: { begun: number; finished: number };
  /** Attempts that began, and results that are written. */
  readonly count: { sent: number; written: number; stale: number };
  /** Ids of deliveries that it has given up because they ended one process after the other. */
  readonly setAside: readonly string[];
}

/** The random number of every attempt. */
export const CHANCE = 0.5;

/** @param shared connections, closed by their owner */
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
    // What fails is what the test itself breaks; a mistake shows in what follows.
    onError: () => undefined,
  });
  return { dispatcher, db, gate, reads, count, setAside };
}
