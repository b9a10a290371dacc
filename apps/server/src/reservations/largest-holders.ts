import { reservationLimit } from "@bikeshare/rules";
import type { Database } from "../db/database.ts";
import type { PartnerHolds } from "../metrics/reservation-metrics.ts";
import { systemsOf } from "../systems/service.ts";
import { listLargestHolders } from "./partner-queries.ts";

/** Partners of a system that are shown one by one. More become more time series than anybody reads. */
const SHOWN_PARTNERS = 20;

/** The partners of each system that hold most bikes, and how many each may hold. @param now milliseconds since 1970 */
export async function largestHolders(db: Database, now: number): Promise<PartnerHolds[]> {
  const holders: PartnerHolds[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) {
    const rows = await listLargestHolders(db, systemId, { at: new Date(now), limit: SHOWN_PARTNERS });
    for (const { partner_id: partnerId, active, max_reservations: limit } of rows) {
      holders.push({ systemId, partnerId, active, limit: reservationLimit(limit) });
    }
  }
  return holders;
}
