import type { MembershipRole } from "@bikeshare/contract/console";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/** Limits the list, which is one page: more than the people of any partner. */
const MAX_LISTED = 500;

/** A member as the list of people shows them. */
export interface MemberRow {
  readonly id: string;
  readonly person_id: string;
  readonly email: string;
  readonly name: string;
  readonly role: MembershipRole;
  readonly joined_at: Date;
  readonly last_used_at: Date | null;
}

const members = statement(
  "members.list",
  `select m.id, m.person_id, p.email, p.name, m.role, m.created_at as joined_at,
     (select max(s.last_used_at) from sessions s where s.person_id = m.person_id) as last_used_at
   from memberships m join people p on p.id = m.person_id
   where m.system_id = $1 and m.partner_id is not distinct from $2 order by p.name, m.id limit ${MAX_LISTED}`,
);

/** Returns the members of a partner, or with null of the operator, by name. */
export function listMembers(db: Queryable, systemId: string, partnerId: string | null): Promise<MemberRow[]> {
  return db.query<MemberRow>(members, [systemId, partnerId]);
}

/** An invitation that can still be accepted, as the list of people shows it. */
export interface ListedInvitation {
  readonly id: string;
  readonly email: string;
  readonly role: MembershipRole;
  readonly created_by: string;
  readonly expires_at: Date;
}

const invitations = statement(
  "members.invitations",
  `select id, email, role, created_by, expires_at from invitations
   where system_id = $1 and partner_id is not distinct from $2
     and accepted_at is null and revoked_at is null and expires_at > $3
   order by created_at desc, id limit ${MAX_LISTED}`,
);
const revoke = statement(
  "invitations.revoke",
  `update invitations set revoked_at = $3 where system_id = $1 and id = $2
     and ($4 or partner_id is not distinct from $5) and accepted_at is null and revoked_at is null
   returning email, partner_id`,
);

/** Returns the invitations that are open, the newest first. */
export function listOpenInvitations(
  db: Queryable,
  systemId: string,
  partnerId: string | null,
  now: Date,
): Promise<ListedInvitation[]> {
  return db.query<ListedInvitation>(invitations, [systemId, partnerId, now]);
}

/** The scope of a list of people: a partner's, or with undefined a whole system's. */
export interface PeopleScope {
  readonly systemId: string;
  readonly partnerId: string | undefined;
}

/** Revokes an open invitation. @returns undefined when there is none */
export async function updateRevoked(
  db: Queryable,
  { systemId, partnerId }: PeopleScope,
  id: string,
  now: Date,
): Promise<{ readonly email: string; readonly partner_id: string | null } | undefined> {
  const values = [systemId, id, now, partnerId === undefined, partnerId ?? null];
  return (await db.query<{ email: string; partner_id: string | null }>(revoke, values))[0];
}

const lockAdmins = statement(
  "members.lockOperatorAdmins",
  "select id from memberships where system_id = $1 and partner_id is null and role = 'admin' for update",
);

/** Returns the memberships of the operator's admins, held until the transaction ends: of two who go at once, one must stay. */
export async function lockOperatorAdmins(tx: Transaction, systemId: string): Promise<string[]> {
  return (await tx.query<{ id: string }>(lockAdmins, [systemId])).map(({ id }) => id);
}

/** A membership that is about to change. */
export interface LockedMember {
  readonly id: string;
  readonly person_id: string;
  readonly partner_id: string | null;
  readonly role: MembershipRole;
  readonly email: string;
}

const lock = statement(
  "members.lock",
  `select m.id, m.person_id, m.partner_id, m.role, p.email from memberships m join people p on p.id = m.person_id
   where m.system_id = $1 and m.id = $2 and ($3 or m.partner_id is not distinct from $4) for update of m`,
);
const setRole = statement("members.setRole", "update memberships set role = $3 where system_id = $1 and id = $2");
const remove = statement("members.delete", "delete from memberships where system_id = $1 and id = $2");

/** Returns a membership within a scope, held until the transaction ends. */
export async function lockMember(
  tx: Transaction,
  { systemId, partnerId }: PeopleScope,
  id: string,
): Promise<LockedMember | undefined> {
  const values = [systemId, id, partnerId === undefined, partnerId ?? null];
  return (await tx.query<LockedMember>(lock, values))[0];
}

export async function updateRole(tx: Transaction, systemId: string, id: string, role: MembershipRole): Promise<void> {
  await tx.query(setRole, [systemId, id, role]);
}

export async function deleteMembership(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(remove, [systemId, id]);
}
