import type { Database } from "./database.ts";
import { statement } from "./statement.ts";

const select = statement("ping", "select 1");

/** Fails while the database cannot serve. */
export async function ping(db: Database): Promise<void> {
  await db.query(select);
}
