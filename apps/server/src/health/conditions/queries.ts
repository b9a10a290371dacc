import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const time = statement("conditions.time", "select clock_timestamp() as at");

/** Returns the time by the database's clock, as one row. */
export function findTime(db: Queryable): Promise<{ readonly at: Date }[]> {
  return db.query(time);
}
