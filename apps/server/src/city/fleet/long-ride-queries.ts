import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A ride that is under way. */
export type LongRide = Pick<Tables["rides"], "id" | "bike_id" | "started_at">;

// By the index of the rides that are not completed.
const underWay = "from rides where system_id = $1 and status = 'started' and started_at < $2::timestamptz";
const count = statement("rides.countLong", `select count(*) as n ${underWay}`);
const list = statement("rides.listLong", `select id, bike_id, started_at ${underWay} order by started_at, id limit $3`);

/** How many rides that started before an instant are under way. */
export async function countLongRides(db: Queryable, systemId: string, startedBefore: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(count, [systemId, startedBefore])).n;
}

/** Rides that started before an instant and are under way, the oldest first. @param limit null: all */
export function listLongRides(
  db: Queryable,
  systemId: string,
  startedBefore: Date,
  limit: number | null,
): Promise<LongRide[]> {
  return db.query<LongRide>(list, [systemId, startedBefore, limit]);
}
