import type { Queryable } from "../../storage/db/database.ts";
import { listResourceDeliveries, type ResourceDelivery } from "./delivery-queries.ts";

export type { ResourceDelivery } from "./delivery-queries.ts";

/** Maximum deliveries about one resource that are shown: of each endpoint, and of all together. */
const PER_ENDPOINT = 20;
const SHOWN = 200;

/** Returns the newest deliveries about a station, a bike, a ride or a reservation, to any partner. */
export function resourceDeliveries(db: Queryable, systemId: string, resourceId: string): Promise<ResourceDelivery[]> {
  return listResourceDeliveries(db, systemId, resourceId, { perEndpoint: PER_ENDPOINT, limit: SHOWN });
}
