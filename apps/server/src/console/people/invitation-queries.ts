import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

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
// An invitation's link works for 7 days. For another 30 days it explains that it has expired.
const deletePast = statement(
  "invitations.deletePast",
  "delete from invitations where system_id = $1 and expires_at < $2::timestamptz - interval '30 days'",
);
// One open invitation for an address and a partner: an earlier link must not outlive the one that replaces it.
const revokeEarlier = statement(
  "invitations.revokeEarlier",
  `update invitations set revoked_at = $4 where system_id = $1 and email = $2 and partner_id is not distinct from $3
     and accepted_at is null and revoked_at is null`,
);
const revokeMade = statement(
  "invitations.revokeMade",
  `update invitations set revoked_at = $2 where created_by = $1 and accepted_at is null and revoked_at is null
     and ($3::text is null or system_id = $3) and ($4::text is null or partner_id = $4)`,
);
const setProves = statement(
  "invitations.setProves",
  "update invitations set proves = $3 where system_id = $1 and id = $2",
);
const lockRight = statement(
  "invitations.lockRight",
  `select m.id from memberships m join people p on p.id = m.person_id
   where m.system_id = $1 and m.person_id = $2 and m.role = 'admin'
     and (m.partner_id = $3 and not $4 or m.partner_id is null and p.proof is not null) for share of m`,
);
// The lock does not block transactions that only refer to the system.
const lockSystemRow = statement(
  "invitations.lockSystem",
  "select system_id from systems where system_id = $1 for no key update",
);
const accept = statement(
  "invitations.accept",
  "update invitations set accepted_at = $3 where system_id = $1 and id = $2",
);

export async function findInvitation(db: Queryable, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await db.query<InvitationRow>(byHash, [hash]))[0];
}

/** Like `findInvitation`, and locks the row until the transaction ends. */
export async function lockInvitation(tx: Transaction, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await tx.query<InvitationRow>(lock, [hash]))[0];
}

/** Inserts an invitation in place of an earlier one, and deletes expired ones. */
export async function insertInvitation(db: Queryable, invitation: RowOf<typeof stored>): Promise<void> {
  const { system_id: systemId, email, partner_id: partnerId, created_at: now } = invitation;
  await db.query(deletePast, [systemId, now]);
  await db.query(revokeEarlier, [systemId, email, partnerId, now]);
  await db.query(
    insert,
    stored.names.map((name) => invitation[name]),
  );
}

export async function updateAccepted(db: Queryable, systemId: string, id: string, at: Date): Promise<void> {
  await db.query(accept, [systemId, id, at]);
}

/** Updates the proof that opening the link gives. */
export async function updateProves(db: Queryable, systemId: string, id: string, proves: string | null): Promise<void> {
  await db.query(setProves, [systemId, id, proves]);
}

/** Revokes the open invitations that a person has made: all, or those of a system, or of one partner of it. */
export async function updateRevokedOf(
  db: Queryable,
  personId: string,
  now: Date,
  scope?: { readonly systemId: string; readonly partnerId: string | null },
): Promise<void> {
  await db.query(revokeMade, [`person:${personId}`, now, scope?.systemId ?? null, scope?.partnerId ?? null]);
}

/** Holds the right of a person to invite until the transaction ends. @returns whether they have it */
export async function lockRightToInvite(
  tx: Transaction,
  personId: string,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string | null },
  asOperator: boolean,
): Promise<boolean> {
  return (await tx.query(lockRight, [systemId, personId, partnerId, asOperator])).length > 0;
}

/** Holds off everybody else who invites into the operator's people, until the transaction ends. */
export async function lockSystem(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lockSystemRow, [systemId]);
}
