import type { MembershipRole } from "@bikeshare/contract/console";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/* Statements about sessions, and the memberships that a session gives access to. */

const stored = columnsOfTable("sessions");
const withoutSecrets = stored.without("hash", "id_token");

/** A person's permissions in one system. A removed partner has no members. */
export interface MembershipRow {
  readonly system_id: string;
  readonly system_name: string;
  /** Null: the operator's. */
  readonly partner_id: string | null;
  readonly partner_name: string | null;
  readonly partner_suspended: boolean;
  /** The system is the partner's sandbox. A member of the partner is a member of its sandbox too. */
  readonly is_sandbox: boolean;
  readonly is_agency: boolean;
  readonly role: MembershipRole;
}

/** A session with its person and their memberships. */
export interface SessionRow extends RowOf<typeof withoutSecrets> {
  readonly email: Tables["people"]["email"];
  readonly name: Tables["people"]["name"];
  /** The person's rights of the operator are suspended, because the account's address is not proved. */
  readonly needs_proof: boolean;
  readonly memberships: readonly MembershipRow[];
}

// The holder of an account (`p`) with an unproved address may be anybody, and so has no rights of the operator.
const needsProof = `p.proof is null and exists (
       select 1 from memberships m where m.person_id = s.person_id and m.partner_id is null)`;

// A row for each membership, and a second one for the sandbox of the membership's partner. `home_system_id`: the partner's
// live system.
const membershipsAndSandboxes = `select system_id, partner_id, person_id, role, id, false as is_sandbox,
         system_id as home_system_id from memberships
       union all
       select x.system_id, member.partner_id, member.person_id, member.role, member.id, true, member.system_id
       from memberships member join sandboxes x on x.live_system_id = member.system_id and x.partner_id = member.partner_id`;

// The memberships of a session's person, as `MembershipRow`. A partner (`q`) that is suspended in its live system (`home`) is
// suspended in its sandbox too.
const membershipRows = `select json_agg(json_build_object('system_id', m.system_id, 'system_name', y.name,
         'partner_id', m.partner_id, 'partner_name', q.name,
         'partner_suspended', coalesce(q.suspended_at, home.suspended_at) is not null,
         'role', m.role, 'is_sandbox', m.is_sandbox,
         'is_agency', exists (select from agencies a where a.system_id = m.system_id and a.partner_id = m.partner_id))
       order by m.is_sandbox, m.system_id, q.name nulls first, m.id)
     from (${membershipsAndSandboxes}) m join systems y on y.system_id = m.system_id
     left join partners q on q.system_id = m.system_id and q.id = m.partner_id
     left join partners home on home.system_id = m.home_system_id and home.id = m.partner_id
     where m.person_id = s.person_id and q.removed_at is null and (m.partner_id is not null or p.proof is not null)`;

// Searches all systems, because a cookie does not name one.
const byHash = statement(
  "sessions.byHash",
  `select ${withoutSecrets.list("s")}, p.email, p.name, ${needsProof} as needs_proof,
     coalesce((${membershipRows}), '[]') as memberships
   from sessions s join people p on p.id = s.person_id where s.hash = $1`,
);
const byId = statement("sessions.byId", "select id from sessions where id = $1");
const insert = statement(
  "sessions.insert",
  `insert into sessions (${stored.list()}) values (${stored.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);
const remove = statement("sessions.delete", "delete from sessions where id = $1 returning id_token");
// A session that ended because it was idle is deleted here too, but only once its lifetime is over.
const removeExpired = statement(
  "sessions.deleteExpired",
  "delete from sessions where person_id = $1 and expires_at <= $2",
);
const lastUse = statement(
  "sessions.lastUse",
  "update sessions set last_used_at = $2, address = $3 where id = $1 and last_used_at < $2",
);

const ofPerson = statement(
  "sessions.ofPerson",
  `select ${withoutSecrets.list()} from sessions where person_id = $1 order by last_used_at desc, id`,
);
// The id stays: it is the same browser, under a new cookie.
const rotate = statement(
  "sessions.rotate",
  "update sessions set hash = $2, confirmed_at = $3, last_used_at = $3 where id = $1 returning id",
);
const removeOfPerson = statement(
  "sessions.deleteOne",
  "delete from sessions where person_id = $1 and id = $2 returning id",
);
const removeOthers = statement(
  "sessions.deleteOthers",
  "delete from sessions where person_id = $1 and ($2::text is null or id <> $2)",
);

/** A session as the list of a person's sessions shows it. */
export type ListedSession = RowOf<typeof withoutSecrets>;

/** Lists every session of a person, expired ones too, the last used first. */
export function listSessions(db: Queryable, personId: string): Promise<ListedSession[]> {
  return db.query<ListedSession>(ofPerson, [personId]);
}

/** Gives a session another token, as confirmed now. @returns false when it has ended meanwhile */
export async function updateToken(db: Queryable, id: string, hash: Uint8Array, now: Date): Promise<boolean> {
  return (await db.query(rotate, [id, hash, now])).length > 0;
}

/** Deletes one session of a person. @returns whether there was one */
export async function deleteSessionOf(db: Queryable, personId: string, id: string): Promise<boolean> {
  return (await db.query(removeOfPerson, [personId, id])).length > 0;
}

/** Deletes a person's sessions. @param exceptId the session that stays; null: none */
export async function deleteSessionsOf(db: Queryable, personId: string, exceptId: string | null): Promise<void> {
  await db.query(removeOthers, [personId, exceptId]);
}

/** Returns the session with a hash, even if it has expired. */
export async function findSession(db: Queryable, hash: Uint8Array): Promise<SessionRow | undefined> {
  return (await db.query<SessionRow>(byHash, [hash]))[0];
}

/** Returns the id of a session that has not been deleted. */
export async function findSessionId(db: Queryable, id: string): Promise<string | undefined> {
  return (await db.query<{ id: string }>(byId, [id]))[0]?.id;
}

export async function insertSession(db: Queryable, session: RowOf<typeof stored>): Promise<void> {
  await db.query(
    insert,
    stored.names.map((name) => session[name]),
  );
}

/** Deletes a session. @returns its encrypted ID token, where it has one */
export async function deleteSession(db: Queryable, id: string): Promise<string | null> {
  return (await db.query<{ id_token: string | null }>(remove, [id]))[0]?.id_token ?? null;
}

/** Deletes the sessions of a person that have expired. */
export async function deleteExpiredSessions(db: Queryable, personId: string, now: Date): Promise<void> {
  await db.query(removeExpired, [personId, now]);
}

/** Writes the last use of a session, unless a later one is written already. */
export async function updateLastUse(db: Queryable, id: string, at: Date, address: string): Promise<void> {
  await db.query(lastUse, [id, at, address]);
}
