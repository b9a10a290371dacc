import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { updateSearchSettings } from "./delivery-search-queries.ts";

/** The properties of a delivery that change. */
export type ChangeRow = Pick<
  Tables["webhook_deliveries"],
  "endpoint_id" | "id" | "status" | "attempts" | "latest_failure"
>;

const newest = statement(
  "deliveries.newest",
  `select delivery.* from unnest($2::text[]) as watched (endpoint_id)
   cross join lateral (
     select endpoint_id, id, status, attempts, latest_failure from webhook_deliveries
     where system_id = $1 and endpoint_id = watched.endpoint_id
     order by created_at desc, id desc limit $3) as delivery`,
);

/** Returns the newest deliveries of each endpoint, the newest first. */
export function listNewestDeliveries(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
  limit: number,
): Promise<ChangeRow[]> {
  return db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    return tx.query<ChangeRow>(newest, [systemId, endpointIds, limit]);
  });
}
