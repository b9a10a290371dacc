import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

// Each endpoint's by the index of resources.
const list = statement(
  "webhooks.listOfResource",
  `select found.id, found.event_id, found.event, found.status, found.created_at, endpoint.partner_id,
     partners.name as partner_name
   from webhook_endpoints endpoint
   join partners on partners.system_id = $1 and partners.id = endpoint.partner_id
   cross join lateral (
     select delivery.id, delivery.event_id, delivery.event, delivery.status, delivery.created_at
     from webhook_deliveries delivery
     where delivery.system_id = $1 and delivery.endpoint_id = endpoint.id and delivery.resource_id = $2
     order by delivery.created_at desc, delivery.id desc limit $3) as found
   where endpoint.system_id = $1
   order by found.created_at desc, found.id desc limit $4`,
);

/** A delivery of an event about a resource, and whose it is. */
export interface ResourceDelivery extends Pick<
  Tables["webhook_deliveries"],
  "id" | "event_id" | "event" | "status" | "created_at"
> {
  readonly partner_id: string;
  readonly partner_name: string;
}

/** The deliveries about a resource, the newest first. @param perEndpoint so many of each endpoint at most */
export function listResourceDeliveries(
  db: Queryable,
  systemId: string,
  resourceId: string,
  { perEndpoint, limit }: { readonly perEndpoint: number; readonly limit: number },
): Promise<ResourceDelivery[]> {
  return db.query<ResourceDelivery>(list, [systemId, resourceId, perEndpoint, limit]);
}
