import type { Queryable } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { EndpointCounts, EndpointRow } from "./endpoint-queries.ts";

/** An endpoint among all, with what waits there. */
export interface OverviewRow
  extends
    Pick<EndpointRow, "id" | "partner_id" | "url" | "status" | "pause_reason" | "paused_at">,
    Pick<EndpointCounts, "failing_since" | "pending" | "oldest_due" | "held"> {
  readonly partner_name: string;
}

const overview = statement(
  "endpoints.overview",
  `select endpoint.id, endpoint.partner_id, partner.name as partner_name, endpoint.url, endpoint.status,
     endpoint.pause_reason, endpoint.paused_at, lane.failing_since, due.pending, due.oldest_due, stuck.held
   from webhook_endpoints endpoint
   join partners partner on partner.system_id = $1 and partner.id = endpoint.partner_id
   join webhook_lanes lane on lane.system_id = $1 and lane.endpoint_id = endpoint.id
   cross join lateral (
     select count(*) as pending, min(due_at) as oldest_due from webhook_queue
     where system_id = $1 and endpoint_id = endpoint.id) due
   cross join lateral (
     select count(*) as held from webhook_deliveries
     where system_id = $1 and endpoint_id = endpoint.id and stuck and status = 'held') stuck
   where endpoint.system_id = $1 and (endpoint.pause_reason is distinct from 'removed' or endpoint.paused_at > $2)
   order by partner.name, partner.id`,
);

/** Every endpoint of a system; those removed at `removedSince` or earlier are left out. */
export function selectOverview(db: Queryable, systemId: string, removedSince: Date): Promise<OverviewRow[]> {
  return db.query<OverviewRow>(overview, [systemId, removedSince]);
}
