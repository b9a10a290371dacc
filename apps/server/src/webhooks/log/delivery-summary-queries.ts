import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED } from "../queue/sql-fragments.ts";

/** How an endpoint's deliveries have gone lately. */
export interface DeliverySummary {
  readonly succeeded: number;
  readonly given_up: number;
  /** When the first of those given up was created, and why most of them failed. */
  readonly given_up_from: Date | null;
  readonly given_up_failure: string | null;
  /** To be tried again after a failed attempt. */
  readonly failing: number;
  /** Whether nothing more could be counted. */
  readonly is_complete: boolean;
}

// Each part walks one index from its newest end, and no further than the limit. What is given up was created days before.
// What somebody has dropped is left out behind the limit: looking past all of it would have no bound.
const summary = statement(
  "deliveries.summary",
  `with latest as materialized (
     select status from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and created_on >= $3::timestamptz::date and created_at >= $3
     order by created_at desc, id desc limit $4),
   failed as materialized (
     select created_at, latest_failure, finished_at from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and problem = 'failed'
     order by created_at desc, id desc limit $4),
   failing as materialized (
     select 1 from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and problem = 'failing'
     order by created_at desc, id desc limit $4)
   select (select count(*) filter (where status = 'succeeded') from latest) as succeeded,
     count(*) as given_up, min(created_at) as given_up_from,
     mode() within group (order by latest_failure) as given_up_failure,
     (select count(*) from failing) as failing,
     (select count(*) from latest) < $4 and (select count(*) from failed) < $4 and (select count(*) from failing) < $4
       as is_complete
   from failed where finished_at >= $3 and latest_failure is distinct from '${DROPPED}'`,
);

/** Counts an endpoint's deliveries since an instant, up to `limit` of each kind. */
export async function countRecentDeliveries(
  db: Queryable,
  systemId: string,
  endpointId: string,
  since: Date,
  limit: number,
): Promise<DeliverySummary> {
  return oneRow(await db.query<DeliverySummary>(summary, [systemId, endpointId, since, limit]));
}
