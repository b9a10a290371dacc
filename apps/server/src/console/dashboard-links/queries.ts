import type { MembershipRole } from "@bikeshare/contract/console";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/** The columns of a new link. `session_hash` stays null until the link is opened. */
const stored = columnsOfTable("dashboard_links").without("session_hash");

/** An opened link with the permissions of its session. */
export interface EmbeddedRow {
  readonly id: string;
  readonly system_id: string;
  readonly system_name: string;
  readonly partner_id: string;
  readonly partner_name: string;
  readonly partner_suspended: boolean;
  readonly role: MembershipRole;
  readonly viewer: string;
  readonly created_at: Date;
  readonly expires_at: Date;
}

const insert = statement(
  "dashboardLinks.insert",
  `insert into dashboard_links (${stored.list()}) values (${stored.names.map((_, index) => `$${index + 1}`).join(", ")})`,
);
const removeExpired = statement(
  "dashboardLinks.deleteExpired",
  "delete from dashboard_links where system_id = $1 and expires_at <= $2",
);
// Searches all systems, because a token does not name its system. If two requests open a link at the same time, the second
// finds that the link has a session already.
const open = statement(
  "dashboardLinks.open",
  `update dashboard_links d set session_hash = $3, expires_at = $4 from partners p
   where d.hash = $1 and d.session_hash is null and d.expires_at > $2
     and p.system_id = d.system_id and p.id = d.partner_id and p.removed_at is null
   returning d.system_id, d.id, d.partner_id, d.viewer`,
);
const bySession = statement(
  "dashboardLinks.bySession",
  `select d.id, d.system_id, y.name as system_name, d.partner_id, p.name as partner_name,
     p.suspended_at is not null as partner_suspended, d.role, d.viewer, d.created_at, d.expires_at
   from dashboard_links d join systems y on y.system_id = d.system_id
   join partners p on p.system_id = d.system_id and p.id = d.partner_id
   where d.session_hash = $1 and p.removed_at is null`,
);
const remove = statement("dashboardLinks.delete", "delete from dashboard_links where id = $1");

export async function insertLink(db: Queryable, link: RowOf<typeof stored>): Promise<void> {
  await db.query(
    insert,
    stored.names.map((name) => link[name]),
  );
}

/** Deletes the links and sessions of a system that have expired. */
export async function deleteExpiredLinks(db: Queryable, systemId: string, now: Date): Promise<void> {
  await db.query(removeExpired, [systemId, now]);
}

interface OpenedLink {
  readonly system_id: string;
  readonly id: string;
  readonly partner_id: string;
  readonly viewer: string;
}

/** Opens a link, once. @returns undefined when it cannot be opened any more */
export async function updateOpened(
  db: Queryable,
  hash: Uint8Array,
  session: { readonly hash: Uint8Array; readonly now: Date; readonly expiresAt: Date },
): Promise<OpenedLink | undefined> {
  return (await db.query<OpenedLink>(open, [hash, session.now, session.hash, session.expiresAt]))[0];
}

/** Returns the session with a hash, even if it has expired. */
export async function findEmbedded(db: Queryable, hash: Uint8Array): Promise<EmbeddedRow | undefined> {
  return (await db.query<EmbeddedRow>(bySession, [hash]))[0];
}

/** Deletes a link, and with it the session that it has begun. */
export async function deleteLink(db: Queryable, id: string): Promise<void> {
  await db.query(remove, [id]);
}
