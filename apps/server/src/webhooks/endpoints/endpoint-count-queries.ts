import type { Queryable } from "../../db/database.ts";
import { oneRow } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";
import type { EndpointRow } from "./endpoint-queries.ts";

/** How an endpoint does. */
export interface EndpointCounts {
  readonly failing_since: Date | null;
  readonly failures: number;
  /** Queued deliveries, and since when the first of them is due. */
  readonly pending: number;
  readonly oldest_due: Date | null;
  /** Held deliveries, and when the first of them was created. */
  readonly held: number;
  readonly held_since: Date | null;
}

/** Joins an endpoint's counts, taken now. @param endpointId the column with its id */
const joinCounts = (endpointId: string) => `
   cross join lateral (
     select count(*) as pending, min(due_at) as oldest_due from webhook_queue
     where system_id = $1 and endpoint_id = ${endpointId}) queued
   cross join lateral (
     select count(*) as held, min(created_at) as held_since from webhook_deliveries
     where system_id = $1 and endpoint_id = ${endpointId} and stuck and status = 'held') stuck`;

const counts = statement(
  "endpoints.counts",
  `select lane.failing_since, lane.failures, queued.pending, queued.oldest_due, stuck.held, stuck.held_since
   from webhook_lanes lane ${joinCounts("lane.endpoint_id")}
   where lane.system_id = $1 and lane.endpoint_id = $2`,
);

/** How an endpoint does: counted now. */
export async function countEndpoint(db: Queryable, systemId: string, id: string): Promise<EndpointCounts> {
  return oneRow(await db.query<EndpointCounts>(counts, [systemId, id]));
}

/** An endpoint in the list of all, with its counts. */
export interface SummaryRow
  extends
    Pick<EndpointRow, "id" | "partner_id" | "url" | "status" | "pause_reason" | "paused_at">,
    Pick<EndpointCounts, "failing_since" | "pending" | "oldest_due" | "held"> {
  readonly partner_name: string;
}

const summaries = statement(
  "endpoints.summaries",
  `select endpoint.id, endpoint.partner_id, partner.name as partner_name, endpoint.url, endpoint.status,
     endpoint.pause_reason, endpoint.paused_at, lane.failing_since, queued.pending, queued.oldest_due, stuck.held
   from webhook_endpoints endpoint
   join partners partner on partner.system_id = $1 and partner.id = endpoint.partner_id
   join webhook_lanes lane on lane.system_id = $1 and lane.endpoint_id = endpoint.id ${joinCounts("endpoint.id")}
   where endpoint.system_id = $1 and (endpoint.pause_reason is distinct from 'removed' or endpoint.paused_at > $2)
   order by partner.name, partner.id`,
);

/** Every endpoint of a system with its counts; those removed at `removedSince` or earlier are left out. */
export function listEndpointSummaries(db: Queryable, systemId: string, removedSince: Date): Promise<SummaryRow[]> {
  return db.query<SummaryRow>(summaries, [systemId, removedSince]);
}
