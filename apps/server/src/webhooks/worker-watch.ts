import type { Concerns } from "../concerns.ts";
import type { Conditions } from "../conditions/lasting-conditions.ts";
import type { Database } from "../db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { countWorkers } from "./queue/worker-queries.ts";

/** Milliseconds between two looks. A worker that was killed is missed after its last sign of life has run out. */
const LOOK_MS = 15_000;

/** Notices that no process does the work beside requests. */
export interface WorkerWatch {
  /** Looks now. */
  look(): Promise<void>;
  close(): Promise<void>;
}

/** For the log: a line at once, one a minute, and one when a worker has come. */
class NoWorker extends Error {
  override readonly name = "NoWorker";
  readonly condition = "no_worker";
  readonly sentences = {
    begins: NO_WORKER,
    lasts: "still no worker is running",
    ends: "a worker is running",
  };
}

const NO_WORKER =
  "no worker is running: events do not appear in /v1/events, and webhooks are not sent. Start `serve --role worker`";

/**
 * Looks whether a worker lives, from a process that is none itself. Each worker signs on for every system, where it
 * sends webhooks; the other work is done by the same processes.
 */
export function watchForWorkers(
  db: Database,
  { conditions, concerns }: { readonly conditions: Conditions; readonly concerns: Concerns },
): WorkerWatch {
  const waiting = conditions.of("waiting for a worker", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  const asking = conditions.of("looking for a worker");
  let looking = Promise.resolve();
  async function lookNow(): Promise<void> {
    const idle: string[] = [];
    for (const { system_id: systemId } of await systemsOf(db)) {
      if ((await countWorkers(db, systemId)) === 0) idle.push(systemId);
    }
    concerns.set("worker", idle.length === 0 ? undefined : NO_WORKER);
    if (idle.length === 0) waiting.succeeded();
    else waiting.failed(new NoWorker(`of ${idle.slice(0, 3).join(", ")}`), { systems: idle.length });
  }
  const look = () => (looking = looking.then(lookNow).then(asking.succeeded, asking.failed));
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return {
    look,
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
