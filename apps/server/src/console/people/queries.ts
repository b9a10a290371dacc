import type { MembershipRole } from "@bikeshare/contract/console";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { AddressProof } from "./people.rules.ts";

/* Statements about people, memberships and invitations. */

const people = columnsOfTable("people");
export type PersonRow = RowOf<typeof people>;

const byEmail = statement("people.byEmail", `select ${people.list()} from people where email = $1`);
const byId = statement("people.byId", `select ${people.list()} from people where id = $1`);
const insertPersonRow = statement(
  "people.insert",
  `insert into people (id, email, name, created_at, proof, proof_system_id) values ($1, $2, $3, $4, $5, $6)
   on conflict (email) do nothing returning ${people.list()}`,
);

/** @param email in the form of `normalizedEmail` */
export async function findPersonByEmail(db: Queryable, email: string): Promise<PersonRow | undefined> {
  return (await db.query<PersonRow>(byEmail, [email]))[0];
}

export async function findPerson(db: Queryable, id: string): Promise<PersonRow | undefined> {
  return (await db.query<PersonRow>(byId, [id]))[0];
}

const lockRow = statement("people.lock", `select ${people.list()} from people where id = $1 for update`);
const setProof = statement("people.setProof", "update people set proof = $2, proof_system_id = $3 where id = $1");

/** Locks a person until the transaction ends: concurrent sign-ins and changes of credentials wait. */
export async function lockPerson(tx: Transaction, id: string): Promise<PersonRow | undefined> {
  return (await tx.query<PersonRow>(lockRow, [id]))[0];
}

/** Inserts a person. @returns undefined: there is one with this address already */
export async function insertPerson(
  db: Queryable,
  person: Pick<PersonRow, "id" | "email" | "name" | "created_at">,
  proof: AddressProof | null,
): Promise<PersonRow | undefined> {
  const { id, email, name, created_at } = person;
  const values = [id, email, name, created_at, proof?.by ?? null, proof?.systemId ?? null];
  return (await db.query<PersonRow>(insertPersonRow, values))[0];
}

/** Writes how the person who holds an account proved its address; null: not at all. */
export async function updateProof(tx: Transaction, id: string, proof: AddressProof | null): Promise<void> {
  await tx.query(setProof, [id, proof?.by ?? null, proof?.systemId ?? null]);
}

/** What a person may do in a system: for one of its partners, or with null for its operator. */
export interface Membership {
  readonly systemId: string;
  readonly partnerId: string | null;
  readonly role: MembershipRole;
}

const membershipsOf = statement(
  "memberships.ofPerson",
  `select system_id as "systemId", partner_id as "partnerId", role from memberships where person_id = $1`,
);
// An invitation never lowers a role: an admin stays an admin.
const addMembership = statement(
  "memberships.insert",
  `insert into memberships as m (system_id, id, person_id, partner_id, role, created_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, person_id, partner_id)
   do update set role = case when m.role = 'admin' then m.role else excluded.role end`,
);

/** Lists every membership of a person. */
export function listMembershipsOf(db: Queryable, personId: string): Promise<Membership[]> {
  return db.query<Membership>(membershipsOf, [personId]);
}

/** Inserts a membership; an existing member becomes an admin when the new membership is an admin's. */
export async function insertMembership(
  db: Queryable,
  membership: Membership & { readonly id: string; readonly personId: string; readonly createdAt: Date },
): Promise<void> {
  const { systemId, id, personId, partnerId, role, createdAt } = membership;
  await db.query(addMembership, [systemId, id, personId, partnerId, role, createdAt]);
}

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
  /** The last use of any of the person's sessions; null: there is no session. */
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
// `$4`: the caller may manage all people of the system, so the partner does not matter (see `PeopleScope`).
const revoke = statement(
  "invitations.revoke",
  `update invitations set revoked_at = $3 where system_id = $1 and id = $2
     and ($4 or partner_id is not distinct from $5) and accepted_at is null and revoked_at is null
   returning email, partner_id`,
);

/** Returns the open invitations of a partner, or with null of the operator, the newest first. */
export function listOpenInvitations(
  db: Queryable,
  systemId: string,
  partnerId: string | null,
  now: Date,
): Promise<ListedInvitation[]> {
  return db.query<ListedInvitation>(invitations, [systemId, partnerId, now]);
}

/** The people that a caller may manage: a partner's, or with undefined all of a system, also the operator's own. */
export interface PeopleScope {
  readonly systemId: string;
  readonly partnerId: string | undefined;
}

/**
 * Revokes an invitation that is neither accepted nor revoked, even if it has expired.
 * @returns undefined when there is none
 */
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

/**
 * Returns the ids of the memberships of the operator's admins, and locks these until the transaction ends: of two concurrent
 * removals of the last two admins, one must fail.
 */
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

// `$3`: the caller may manage all people of the system, so the partner does not matter.
const lockMemberRow = statement(
  "members.lock",
  `select m.id, m.person_id, m.partner_id, m.role, p.email from memberships m join people p on p.id = m.person_id
   where m.system_id = $1 and m.id = $2 and ($3 or m.partner_id is not distinct from $4) for update of m`,
);
const setRole = statement("members.setRole", "update memberships set role = $3 where system_id = $1 and id = $2");
const remove = statement("members.delete", "delete from memberships where system_id = $1 and id = $2");

/** Returns a membership within a scope, and locks it until the transaction ends. */
export async function lockMember(
  tx: Transaction,
  { systemId, partnerId }: PeopleScope,
  id: string,
): Promise<LockedMember | undefined> {
  const values = [systemId, id, partnerId === undefined, partnerId ?? null];
  return (await tx.query<LockedMember>(lockMemberRow, values))[0];
}

export async function updateRole(tx: Transaction, systemId: string, id: string, role: MembershipRole): Promise<void> {
  await tx.query(setRole, [systemId, id, role]);
}

export async function deleteMembership(tx: Transaction, systemId: string, id: string): Promise<void> {
  await tx.query(remove, [systemId, id]);
}

const stored = columnsOfTable("invitations");
const storedWithoutHash = stored.without("hash");

/** An invitation, with the names that its page shows. */
export interface InvitationRow extends RowOf<typeof storedWithoutHash> {
  readonly system_name: string;
  /** Null: the operator. */
  readonly partner_name: string | null;
  readonly partner_removed: boolean;
}

/** The columns of an `InvitationRow`, and the tables that they come from. */
const rowColumns = `${storedWithoutHash.list("i")}, s.name as system_name, p.name as partner_name,
  p.removed_at is not null as partner_removed`;
const rowTables = `invitations i join systems s on s.system_id = i.system_id
  left join partners p on p.system_id = i.system_id and p.id = i.partner_id`;

// Searches all systems, because a link's token does not name its system.
const byHash = statement("invitations.byHash", `select ${rowColumns} from ${rowTables} where i.hash = $1`);
const lockInvitationRow = statement(
  "invitations.lock",
  `select ${rowColumns} from ${rowTables} where i.hash = $1 for update of i`,
);
const insertInvitationRow = statement(
  "invitations.insert",
  `insert into invitations (${stored.list()}) values (${stored.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);
// Deletes an invitation 30 days after its link has expired. A link without a row gets the same error as an expired one.
const deletePast = statement(
  "invitations.deletePast",
  "delete from invitations where system_id = $1 and expires_at < $2::timestamptz - interval '30 days'",
);
// An address has one open invitation to a partner or operator: a new link replaces the earlier one.
const revokeTo = statement(
  "invitations.revokeTo",
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
// Who may invite: an admin of the operator and, to a partner, an admin of the partner, unless `$4`. An operator's admin
// whose address is not proved may be anybody, and has no right.
const lockRight = statement(
  "invitations.lockRight",
  `select m.id from memberships m join people p on p.id = m.person_id
   where m.system_id = $1 and m.person_id = $2 and m.role = 'admin'
     and (m.partner_id = $3 and not $4 or m.partner_id is null and p.proof is not null) for no key update of m`,
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

/** Returns the invitation whose token has a hash, even if it cannot be accepted any more. */
export async function findInvitation(db: Queryable, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await db.query<InvitationRow>(byHash, [hash]))[0];
}

/** Like `findInvitation`, and locks the row until the transaction ends. */
export async function lockInvitation(tx: Transaction, hash: Uint8Array): Promise<InvitationRow | undefined> {
  return (await tx.query<InvitationRow>(lockInvitationRow, [hash]))[0];
}

/** Inserts an invitation, revokes an open one that it replaces, and deletes those that expired over 30 days ago. */
export async function insertInvitation(db: Queryable, invitation: RowOf<typeof stored>): Promise<void> {
  const { system_id: systemId, email, partner_id: partnerId, created_at: now } = invitation;
  await db.query(deletePast, [systemId, now]);
  await updateRevokedTo(db, { systemId, partnerId, email }, now);
  await db.query(
    insertInvitationRow,
    stored.names.map((name) => invitation[name]),
  );
}

export async function updateAccepted(db: Queryable, systemId: string, id: string, at: Date): Promise<void> {
  await db.query(accept, [systemId, id, at]);
}

/** Updates what opening an invitation's link proves. (`updateProof` is about an account.) */
export async function updateProves(db: Queryable, systemId: string, id: string, proves: string | null): Promise<void> {
  await db.query(setProves, [systemId, id, proves]);
}

/** Revokes the open invitation of an address to a partner's people, or with null to the operator's. */
export async function updateRevokedTo(
  db: Queryable,
  {
    systemId,
    partnerId,
    email,
  }: { readonly systemId: string; readonly partnerId: string | null; readonly email: string },
  now: Date,
): Promise<void> {
  await db.query(revokeTo, [systemId, email, partnerId, now]);
}

/**
 * Revokes the open invitations that a person has made.
 * @param scope limits them to one partner or, with null, to a whole system, because the operator's admins invite to every
 *   partner; left out: those of all systems
 */
export async function updateRevokedOf(
  db: Queryable,
  personId: string,
  now: Date,
  scope?: { readonly systemId: string; readonly partnerId: string | null },
): Promise<void> {
  await db.query(revokeMade, [`person:${personId}`, now, scope?.systemId ?? null, scope?.partnerId ?? null]);
}

/**
 * Tells whether a person may invite, and locks the membership that gives the right until the transaction ends.
 * @param asOperator true: only a membership of the operator's admin gives the right, not one of the partner's
 */
export async function lockRightToInvite(
  tx: Transaction,
  personId: string,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string | null },
  asOperator: boolean,
): Promise<boolean> {
  return (await tx.query(lockRight, [systemId, personId, partnerId, asOperator])).length > 0;
}

/** Makes other invitations to the operator's people wait until the transaction ends. */
export async function lockSystem(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lockSystemRow, [systemId]);
}
