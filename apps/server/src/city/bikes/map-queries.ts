import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/** A bike that stands at no station, and where. */
export interface FreeBike {
  readonly id: string;
  readonly number: string | null;
  readonly lat: number;
  readonly lon: number;
}

const free = statement(
  "bikes.listFree",
  `select id, number, lat, lon from bikes
   where system_id = $1 and lat is not null and station_id is null and vehicle_state = 'available' order by id limit $2`,
);

/** Lists available bikes that stand at no station. */
export function listFreeBikes(db: Queryable, systemId: string, limit: number): Promise<FreeBike[]> {
  return db.query<FreeBike>(free, [systemId, limit]);
}
