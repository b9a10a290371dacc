import type { ReadContext } from "./deliveries.ts";
import { countRecentDeliveries, type DeliverySummary } from "./delivery-summary-queries.ts";

export type { DeliverySummary } from "./delivery-summary-queries.ts";

/** Deliveries that are counted of each kind: the cost of an overview does not grow beyond. */
const MAX_COUNTED = 20_000;

/** How the deliveries of an endpoint have gone since an instant. */
export function summarizeDeliveries(
  { db }: Pick<ReadContext, "db">,
  systemId: string,
  endpointId: string,
  since: Date,
): Promise<DeliverySummary> {
  return countRecentDeliveries(db, systemId, endpointId, since, MAX_COUNTED);
}
