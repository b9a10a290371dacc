import type { ActorContext } from "../command-context.ts";
import type { Queryable } from "../db/database.ts";
import { type Act, insertAct } from "./queries.ts";

export { insertAct as recordAct, listActs } from "./queries.ts";

/** Writes an act into the audit log, in the transaction of the act itself. @param act without a time: now */
export function recordActOf(
  { clock, ids, actor }: Omit<ActorContext, "db">,
  tx: Queryable,
  act: Omit<Act, "id" | "at" | "actor"> & Partial<Pick<Act, "at">>,
): Promise<void> {
  return insertAct(tx, { at: new Date(clock()), ...act, id: ids.next("act"), actor });
}
