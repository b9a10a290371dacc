import { insertPartner } from "../src/partners/queries.ts";
import type { Queryable } from "../src/storage/db/database.ts";

/** Creates partners of a system with ids that the test chooses. @param maxReservations null: the default */
export async function addPartners(
  db: Queryable,
  systemId: string,
  ids: readonly string[],
  maxReservations: number | null = null,
): Promise<void> {
  for (const id of ids)
    await insertPartner(db, systemId, { id, name: id, created_at: new Date(0), max_reservations: maxReservations });
}
