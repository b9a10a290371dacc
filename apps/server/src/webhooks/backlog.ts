import type { Queryable } from "../storage/db/database.ts";
import { countSetAside, findOldestDue } from "./queue/backlog-queries.ts";
import { countWorkers } from "./queue/lane-queries.ts";

/* Numbers of workers and waiting deliveries for health checks and sandboxes, which do not import the statements of webhooks. */

/** Returns the number of a system's live worker processes. */
export function countLiveWorkers(db: Queryable, systemId: string): Promise<number> {
  return countWorkers(db, systemId);
}

/** Returns the due time of the oldest due delivery; null: none is due. */
export function oldestDueAt(db: Queryable, systemId: string, now: Date): Promise<Date | null> {
  return findOldestDue(db, systemId, now);
}

/**
 * Returns the number of deliveries that were set aside, because each ended three processes or PostgreSQL rejected its
 * result, and have not been sent again since.
 */
export function countSetAsideDeliveries(db: Queryable, systemId: string): Promise<number> {
  return countSetAside(db, systemId);
}
