import type { Queryable } from "../../storage/db/database.ts";
import { listResourceDeliveries, type ResourceDelivery } from "./delivery-queries.ts";

export type { ResourceDelivery } from "./delivery-queries.ts";

/** Maximum deliveries about one resource that are shown: of each endpoint, and of all together. */
const PER_ENDPOINT = 20;
const SHOWN = 200;

/** The newest deliveries about a resource. */
interface ResourceDeliveries {
  readonly deliveries: readonly ResourceDelivery[];
  /** False: there are older deliveries. */
  readonly isComplete: boolean;
}

/** Returns the newest deliveries about a station, a bike, a ride or a reservation, to any partner. */
export async function resourceDeliveries(
  db: Queryable,
  systemId: string,
  resourceId: string,
): Promise<ResourceDeliveries> {
  // One more than is shown tells whether there are older ones.
  const limits = { perEndpoint: PER_ENDPOINT + 1, limit: SHOWN + 1 };
  const found = await listResourceDeliveries(db, systemId, resourceId, limits);
  const ofEndpoints = Map.groupBy(found, (delivery) => delivery.endpoint_id).values();
  const shown = new Set([...ofEndpoints].flatMap((each) => each.slice(0, PER_ENDPOINT)));
  const deliveries = found.filter((delivery) => shown.has(delivery)).slice(0, SHOWN);
  return { deliveries, isComplete: deliveries.length === found.length };
}
