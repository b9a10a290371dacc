import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/* Statements that count a system's waiting, set-aside and failing deliveries, for metrics and health checks. */

/** The numbers of a system's waiting deliveries, endpoints, waiting mails and workers. */
interface BacklogRow {
  /** Queued deliveries, whether due or not. */
  readonly pending: number;
  /** When the oldest due delivery was due; null: none is due. */
  readonly oldest_due_at: Date | null;
  /** Held deliveries, without those of removed endpoints. */
  readonly held: number;
  /** Held deliveries at endpoints that are not paused, without those that a running replay may send. */
  readonly stranded: number;
  readonly active: number;
  readonly probing: number;
  /** Paused endpoints, without removed ones. */
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

/** Counts a system's waiting deliveries and mails, its endpoints and its workers. */
export async function countBacklog(db: Queryable, systemId: string, now: Date): Promise<BacklogRow> {
  return oneRow(await db.query<BacklogRow>(backlog, [systemId, now]));
}

const oldestDue = statement(
  "backlog.oldestDue",
  "select min(due_at) as due_at from webhook_queue where system_id = $1 and due_at <= $2",
);

/** Returns when the oldest due delivery was due; null: no delivery is due. */
export async function findOldestDue(db: Queryable, systemId: string, now: Date): Promise<Date | null> {
  return oneRow(await db.query<{ due_at: Date | null }>(oldestDue, [systemId, now])).due_at;
}

// The literal 'set_aside' is SET_ASIDE of rules/after-attempt.ts. It matches the condition of a partial index.
const setAside = statement(
  "backlog.setAside",
  `select count(*) as n from webhook_deliveries
   where system_id = $1 and latest_failure = 'set_aside' and status = 'failed'`,
);

/** Counts the deliveries that were set aside and not resent since. */
export async function countSetAside(db: Queryable, systemId: string): Promise<number> {
  return oneRow(await db.query<{ n: number }>(setAside, [systemId])).n;
}

/** A partner with a failing endpoint. */
interface FailingRow {
  readonly partner_id: string;
  readonly failing_since: Date;
}

const failing = statement(
  "backlog.failing",
  `select endpoint.partner_id, min(lane.failing_since) as failing_since
   from webhook_lanes lane
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = lane.endpoint_id
   where lane.system_id = $1 and endpoint.status = 'active' and lane.failing_since is not null and lane.last_failed_at >= $2
   group by endpoint.partner_id
   order by min(lane.failing_since), endpoint.partner_id
   limit $3`,
);

/**
 * Lists the partners whose active endpoints have been failing for longest, the longest first. Each partner counts by its
 * endpoint that has failed for longest.
 * @param since omits endpoints whose last failure was earlier
 */
export function listFailingPartners(
  db: Queryable,
  systemId: string,
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<FailingRow[]> {
  return db.query<FailingRow>(failing, [systemId, since, limit]);
}
