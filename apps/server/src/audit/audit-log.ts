import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";

const insert = statement(
  "audit.insert",
  `insert into audit_log (system_id, id, at, actor, action, subject, detail) values ($1, $2, $3, $4, $5, $6, $7)`,
);

/** One act on partners and keys. */
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
