import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/** What waits in a system. */
export interface BacklogRow {
  readonly pending: number;
  readonly oldest_due_at: Date | null;
  readonly held: number;
  /** Of them those at endpoints that are not paused, and that no unfinished replay may be about to send. */
  readonly stranded: number;
  readonly active: number;
  readonly probing: number;
  /** Without those that were removed. */
  readonly paused: number;
  readonly waiting_mails: number;
  /** Worker processes that are alive. */
  readonly workers: number;
}

const backlog = statement(
  "backlog.of",
  `select
     (select count(*) from webhook_queue where system_id = $1) as pending,
     (select min(due_at) from webhook_queue where system_id = $1 and due_at <= $2) as oldest_due_at,
     (select count(*) from webhook_deliveries delivery
      where delivery.system_id = $1 and delivery.problem = 'held'
        and not exists (select from webhook_endpoints
          where system_id = $1 and id = delivery.endpoint_id and pause_reason = 'removed')) as held,
     (select count(*) from webhook_deliveries delivery
      where delivery.system_id = $1 and delivery.problem = 'held' and exists (
        select from webhook_endpoints endpoint
        where endpoint.system_id = $1 and endpoint.id = delivery.endpoint_id and endpoint.status <> 'paused'
          and not exists (select from webhook_replays
            where system_id = $1 and endpoint_id = endpoint.id and finished_at is null))) as stranded,
     count(*) filter (where status = 'active') as active,
     count(*) filter (where status = 'probing') as probing,
     count(*) filter (where status = 'paused' and pause_reason <> 'removed') as paused,
     (select count(*) from webhook_mails where system_id = $1) as waiting_mails,
     (select count(*) from webhook_workers where system_id = $1 and alive_until > now()) as workers
   from webhook_endpoints where system_id = $1`,
);

/** Counts what waits in a system. */
export async function countBacklog(db: Queryable, systemId: string, now: Date): Promise<BacklogRow> {
  return oneRow(await db.query<BacklogRow>(backlog, [systemId, now]));
}

const oldestDue = statement(
  "backlog.oldestDue",
  "select min(due_at) as due_at from webhook_queue where system_id = $1 and due_at <= $2",
);

/** Since when the delivery that has been due for longest is so; null: none is due. */
export async function findOldestDue(db: Queryable, systemId: string, now: Date): Promise<Date | null> {
  return oneRow(await db.query<{ due_at: Date | null }>(oldestDue, [systemId, now])).due_at;
}

// As the index has it: SET_ASIDE of rules/retry-policy.ts.
const setAside = statement(
  "backlog.setAside",
  `select count(*) as n from webhook_deliveries
   where system_id = $1 and latest_failure = 'set_aside' and status = 'failed'`,
);

/** How many deliveries were given up because they ended one process after the other, and have not been sent again since. */
export async function countSetAside(db: Queryable, systemId: string): Promise<number> {
  return oneRow(await db.query<{ n: number }>(setAside, [systemId])).n;
}

/** An endpoint in a stretch of failing. */
export interface FailingRow {
  readonly partner_id: string;
  readonly failing_since: Date;
}

const failing = statement(
  "backlog.failing",
  `select endpoint.partner_id, lane.failing_since
   from webhook_lanes lane
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = lane.endpoint_id
   where lane.system_id = $1 and endpoint.status = 'active' and lane.failing_since is not null and lane.last_failed_at >= $2
   order by lane.failing_since, endpoint.partner_id
   limit $3`,
);

/** The endpoints that have failed for longest, `limit` at most. @param since when the last failure of each was, at the earliest */
export function listFailingEndpoints(
  db: Queryable,
  systemId: string,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<FailingRow[]> {
  return db.query<FailingRow>(failing, [systemId, since, limit]);
}
