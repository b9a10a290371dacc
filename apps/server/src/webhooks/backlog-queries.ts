import type { Queryable } from "../db/database.ts";
import { onlyRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

/** What waits in a system. */
export interface BacklogRow {
  readonly pending: number;
  readonly oldest_due_at: Date | null;
  readonly held: number;
  readonly active: number;
  readonly probing: number;
  readonly paused: number;
}

const backlog = statement(
  "backlog.of",
  `select
     (select count(*) from webhook_due where system_id = $1) as pending,
     (select min(due_at) from webhook_due where system_id = $1 and due_at <= $2) as oldest_due_at,
     (select count(*) from webhook_deliveries where system_id = $1 and stuck and status = 'held') as held,
     count(*) filter (where status = 'active') as active,
     count(*) filter (where status = 'probing') as probing,
     count(*) filter (where status = 'paused') as paused
   from webhook_endpoints where system_id = $1`,
);

/** Counts what waits in a system. */
export async function readBacklog(db: Queryable, systemId: string, now: Date): Promise<BacklogRow> {
  return onlyRow(await db.query<BacklogRow>(backlog, [systemId, now]));
}
