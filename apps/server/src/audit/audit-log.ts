import type { Queryable } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import { type Act, insertAct } from "./queries.ts";

export { insertAct as recordAct, listActs } from "./queries.ts";

/** Who acts, and what an act's id and time are made with. */
export interface Acting {
  readonly clock: () => number;
  readonly ids: Ids;
  readonly actor: string;
}

/** Writes an act into the audit log, in the transaction of the act itself. @param act without a time: now */
export function recordActOf(
  { clock, ids, actor }: Acting,
  tx: Queryable,
  act: Omit<Act, "id" | "at" | "actor"> & Partial<Pick<Act, "at">>,
): Promise<void> {
  return insertAct(tx, { at: new Date(clock()), ...act, id: ids.next("act"), actor });
}
