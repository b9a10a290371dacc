import { systemsOf } from "../city/systems/service.ts";
import type { Concerns } from "../health/conditions/concerns.ts";
import type { Conditions } from "../health/conditions/conditions.ts";
import { checkPeriodically } from "../health/conditions/periodic-check.ts";
import type { PeriodicWork } from "../storage/background/periodic.ts";
import type { Database, Queryable } from "../storage/db/database.ts";
import { findOldestDue } from "./queue/backlog-queries.ts";
import { countWorkers } from "./queue/lane-queries.ts";

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

/** Worker processes of a system that are alive. */
export function countLiveWorkers(db: Queryable, systemId: string): Promise<number> {
  return countWorkers(db, systemId);
}

/** Since when the delivery that has been due for longest is so; null: none is due. */
export function oldestDueAt(db: Queryable, systemId: string, now: Date): Promise<Date | null> {
  return findOldestDue(db, systemId, now);
}

/**
 * Looks whether a worker lives, from a process that is none itself. Each worker signs on for every system, where it
 * sends webhooks; the other work is done by the same processes.
 */
export function watchForWorkers(
  db: Database,
  { conditions, concerns }: { readonly conditions: Conditions; readonly concerns: Concerns },
): PeriodicWork {
  const waiting = conditions.of("waiting for a worker", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  const asking = conditions.of("looking for a worker");
  return checkPeriodically(asking, async () => {
    const idle: string[] = [];
    for (const { system_id: systemId } of await systemsOf(db)) {
      if ((await countWorkers(db, systemId)) === 0) idle.push(systemId);
    }
    concerns.set("worker", idle.length === 0 ? undefined : NO_WORKER);
    if (idle.length === 0) waiting.succeeded();
    else waiting.failed(new NoWorker(`of ${idle.slice(0, 3).join(", ")}`), { systems: idle.length });
  });
}
