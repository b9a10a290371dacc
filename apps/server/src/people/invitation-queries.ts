import { columnsOfTable, type RowOf } from "../db/columns.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

const stored = columnsOfTable("invitations");
const kept = stored.without("hash");

/** An invitation, with the names that its page shows. */
export interface InvitationRow extends RowOf<typeof kept> {
  readonly system_name: string;
  /** Null: the operator. */
  readonly partner_name: string | null;
  readonly partner_removed: boolean;
}

const shown = `${kept.list("i")}, s.name as system_name, p.name as partner_name,
  p.removed_at is not null as partner_removed`;
const from = `invitations i join systems s on s.system_id = i.system_id
  left join partners p on p.system_id = i.system_id and p.id = i.partner_id`;

// A link brings only its token, so no system can be named here.
const byHash = statement("invitations.byHash", `select ${shown} from ${from} where i.hash = $1`);
const lock = statement("invitations.lock", `select ${shown} from ${from} where i.hash = $1 for update of i`);
const insert = statement(
  "invitations.insert",
  `insert into invitations (${stored.list()}) values (${stored.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);
// An invitation's link works for 7 days. Afterwards it says for 30 days why it no longer does.
const deletePast = statement(
  "invitations.deletePast",
  "delete from invitations where system_id = $1 and expires_at < $2::timestamptz - interval '30 days'",
);
const accept = statement(
  "invitations.accept",
  "update invitations set accepted_at = $3 where system_id = $1 and id = $2",
);

export async function findInvitation(db: Queryable, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await db.query<InvitationRow>(byHash, [hash]))[0];
}

/** The same, held against everybody else who would accept it until the transaction ends. */
export async function lockInvitation(tx: Transaction, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await tx.query<InvitationRow>(lock, [hash]))[0];
}

/** Writes an invitation, and deletes those that nobody can use any more. */
export async function insertInvitation(db: Queryable, invitation: RowOf<typeof stored>): Promise<void> {
  await db.query(deletePast, [invitation.system_id, invitation.created_at]);
  await db.query(
    insert,
    stored.names.map((name) => invitation[name]),
  );
}

export async function updateAccepted(db: Queryable, systemId: string, id: string, at: Date): Promise<void> {
  await db.query(accept, [systemId, id, at]);
}
