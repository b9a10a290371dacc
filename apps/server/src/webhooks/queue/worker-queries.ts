import type { Queryable } from "../../db/database.ts";
import { onlyRow } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";

const count = statement(
  "workers.count",
  "select count(*) as n from webhook_workers where system_id = $1 and alive_until > now()",
);

/** How many processes are sending a system's webhooks now. */
export async function countWorkers(db: Queryable, systemId: string): Promise<number> {
  return onlyRow(await db.query<{ n: number }>(count, [systemId])).n;
}
