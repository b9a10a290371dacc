import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Ids } from "../ids.ts";

const insert = statement(
  "audit.insert",
  `insert into audit_log (system_id, id, at, actor, action, subject, detail) values ($1, $2, $3, $4, $5, $6, $7)`,
);

/** One act on partners, keys and webhooks. */
export interface Act {
  readonly systemId: string;
  readonly id: string;
  readonly at: Date;
  /** Who: `cli`, `server`, or whoever signed in. */
  readonly actor: string;
  /** What: `key.issued`, `key.revoked`, … */
  readonly action: string;
  /** To what: a partner's or key's id. */
  readonly subject: string;
  /** Whatever else is worth knowing; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Writes an act into the audit log, in the transaction of the act itself. */
export async function recordAct(tx: Queryable, act: Act): Promise<void> {
  await tx.query(insert, [
    act.systemId,
    act.id,
    act.at,
    act.actor,
    act.action,
    act.subject,
    JSON.stringify(act.detail),
  ]);
}

/** Who acts, and what an act's id and time are made with. */
export interface Acting {
  readonly clock: () => number;
  readonly ids: Ids;
  readonly actor: string;
}

/** Writes what somebody does into the audit log. @param act without a time: now */
export function recordActOf(
  { clock, ids, actor }: Acting,
  tx: Queryable,
  act: Omit<Act, "id" | "at" | "actor"> & Partial<Pick<Act, "at">>,
): Promise<void> {
  return recordAct(tx, { at: new Date(clock()), ...act, id: ids.next("act"), actor });
}
