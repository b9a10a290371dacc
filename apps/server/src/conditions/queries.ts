import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";

const time = statement("conditions.time", "select clock_timestamp() as at");

/** The time by the database's clock. */
export function findTime(db: Queryable): Promise<{ readonly at: Date }[]> {
  return db.query(time);
}
