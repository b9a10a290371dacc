import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const listUnlogged = statement(
  "vehicleLog.listUnloggedBikes",
  `select id from bikes
   where system_id = $1 and source = 'operator' and last_event is null
     and exists (select from mds_providers where system_id = $1)
   order by id limit $2`,
);

/** Returns the ids of bikes of the operator without a log; none where the system's events are not logged. */
export async function listUnloggedBikes(db: Queryable, systemId: string, limit: number): Promise<string[]> {
  return (await db.query<{ id: string }>(listUnlogged, [systemId, limit])).map(({ id }) => id);
}
