import type { ActorContext } from "../../command-context.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement, type Statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { TimePosition } from "../../storage/lists/page.ts";

// SQL: the partner that may read an act: the one that the caller ($8) or the detail ($7) names, otherwise the one to whom
// the subject ($6) belongs. So code that records acts cannot forget the partner.
const partnerOfSubject = `coalesce($8, $7::jsonb ->> 'partner_id',
  (select id from partners where system_id = $1 and id = $6),
  (select partner_id from keys where system_id = $1 and id = $6),
  (select partner_id from webhook_endpoints where system_id = $1 and id = $6),
  (select partner_id from webhook_endpoints where system_id = $1 and id = (
     select endpoint_id from webhook_replays where system_id = $1 and id = $6)))`;

const dayOfAct = "($3::timestamptz at time zone 'UTC')::date";

const insert = statement(
  "audit.insert",
  `insert into audit_log (system_id, id, at, logged_on, actor, action, subject, detail, partner_id)
   select $1, $2, $3::timestamptz, ${dayOfAct}, $4, $5, $6, $7::jsonb, ${partnerOfSubject}`,
);

/** One act that the audit log records, such as a change of a partner, a key, a webhook endpoint or a station. */
export interface Act {
  readonly systemId: string;
  readonly id: string;
  readonly at: Date;
  /**
   * The actor: `cli:` and the account that ran the command, `server`, `simulator`, `key:` and a key's id, `person:` and a
   * person's id, or in a frame `embedded:` and the viewer's name.
   */
  readonly actor: string;
  /** The name of the act: `key.issued`, `key.revoked`, … */
  readonly action: string;
  /** The id of the subject, such as a partner or a key. */
  readonly subject: string;
  /** The partner that may read the act, if the subject does not determine it. */
  readonly partnerId?: string | null;
  /** Further details; never a secret. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Writes an act whose id and time the caller has chosen. Other callers use `insertActOf`. */
export async function insertAct(tx: Queryable, act: Act): Promise<void> {
  await tx.query(insert, [
    act.systemId,
    act.id,
    act.at,
    act.actor,
    act.action,
    act.subject,
    JSON.stringify(act.detail),
    act.partnerId ?? null,
  ]);
}

/**
 * Writes an act into the audit log, in the transaction of the act itself.
 * @param act has the time now unless `at` is given
 */
export function insertActOf(
  { clock, ids, actor }: Omit<ActorContext, "db">,
  tx: Queryable,
  act: Omit<Act, "id" | "at" | "actor"> & Partial<Pick<Act, "at">>,
): Promise<void> {
  return insertAct(tx, { at: new Date(clock()), ...act, id: ids.next("act"), actor });
}

const exists = statement(
  "audit.exists",
  `select exists (select from audit_log
     where system_id = $1 and actor = $2 and action = $3 and subject = $4 and at > $5) as exists`,
);

/** Tells whether an actor has done something to a subject after `since`. */
export async function hasDone(
  db: Queryable,
  { systemId, actor, action, subject }: Pick<Act, "systemId" | "actor" | "action" | "subject">,
  since: Date,
): Promise<boolean> {
  return oneRow(await db.query<{ exists: boolean }>(exists, [systemId, actor, action, subject, since])).exists;
}

/** An act in the audit log, as commands and an agency's page list it. */
type ListedAct = Pick<Tables["audit_log"], "id" | "at" | "actor" | "action" | "subject" | "detail">;

interface ListFilters {
  readonly since?: Date | undefined;
  /** An actor, or the prefix before the colon: `cli` selects everybody at a command line. */
  readonly actor?: string | undefined;
  readonly subject?: string | undefined;
  readonly limit: number;
}

const list = statement(
  "audit.list",
  `select id, at, actor, action, subject, detail from audit_log
   where system_id = $1 and ($2::timestamptz is null or at >= $2)
     and ($3::text is null or actor = $3 or starts_with(actor, $3 || ':')) and ($4::text is null or subject = $4)
   order by at desc, id desc limit $5`,
);

/** Returns the newest acts of a system, the newest first. The dashboard searches the whole log with `listMatchingActs`. */
export function listActs(
  db: Queryable,
  systemId: string,
  { since, actor, subject, limit }: ListFilters,
): Promise<ListedAct[]> {
  return db.query<ListedAct>(list, [systemId, since ?? null, actor ?? null, subject ?? null, limit]);
}

/** An act in the audit log, with the name of its actor; null when the actor is no person with a known name. */
export interface ActRow extends Pick<
  Tables["audit_log"],
  "id" | "at" | "actor" | "action" | "subject" | "partner_id" | "detail"
> {
  readonly actor_name: string | null;
}

/** Filters of acts. Null matches everything. */
export interface ActFilters {
  readonly partnerId: string | null;
  /** An actor, or the prefix before the colon: `cli` selects everybody at a command line. */
  readonly actor: string | null;
  readonly action: string | null;
  readonly subject: string | null;
  readonly since: Date;
  readonly until: Date;
}

/** The result of reading a part of the log: the acts that match. */
interface ScannedActs {
  readonly matches: ActRow[];
  /** The position of the last act that was read, matching or not; null: none was read. */
  readonly last: TimePosition | null;
  readonly scanned: number;
}

/** The index that finds acts; the other filters are checked on each act found. */
type ActIndex = "partner" | "subject" | "actor" | "action" | "time";

const conditions: Readonly<Record<Exclude<ActIndex, "time">, string>> = {
  partner: "partner_id = $2",
  subject: "subject = $5",
  actor: "actor = $3",
  action: "action = $4",
};

const columns = "id, at, actor, action, subject, partner_id, detail";

// Whatever the filters, the statement reads a limited number of acts ($10), by an index that has them in order. The
// caller continues from the last act that was read. The join with `always` gives one row even if nothing matches. A
// person's id begins at the 8th character of the actor, behind `person:`.
function searchStatement(by: ActIndex): Statement {
  const condition = by === "time" ? "" : `and ${conditions[by]}`;
  return statement(
    `audit.search.${by}`,
    `with scanned as materialized (
       select ${columns} from audit_log
       where system_id = $1 ${condition} and at >= $6 and at < $7 and (at, id) < ($8, $9)
       order by at desc, id desc limit $10),
     matched as (
       select * from scanned
       where ($2::text is null or partner_id = $2) and ($3::text is null or actor = $3 or starts_with(actor, $3 || ':'))
         and ($4::text is null or action = $4) and ($5::text is null or subject = $5)
       order by at desc, id desc limit $11)
     select (select count(*) from scanned) as scanned, last.at as last_at, last.id as last_id, matched.*,
       people.name as actor_name
     from (select 1) as always
     left join (select at, id from scanned order by at, id limit 1) as last on true
     left join matched on true
     left join people on people.id = substr(matched.actor, 8) and starts_with(matched.actor, 'person:')
     order by matched.at desc, matched.id desc`,
  );
}

const searches = {
  partner: searchStatement("partner"),
  subject: searchStatement("subject"),
  actor: searchStatement("actor"),
  action: searchStatement("action"),
  time: searchStatement("time"),
};

/** Returns the index of the narrowest filter that is given. */
function indexFor({ subject, actor, partnerId, action }: ActFilters): ActIndex {
  if (subject !== null) return "subject";
  // An actor without a colon may match several actors, for which the index is not in the order of time.
  if (actor?.includes(":") === true) return "actor";
  if (partnerId !== null) return "partner";
  return action === null ? "time" : "action";
}

/** A match; when nothing matches, one row whose `id` is null. */
type SearchRow = { readonly scanned: number; readonly last_at: Date | null; readonly last_id: string | null } & (
  | ActRow
  | { readonly id: null }
);

/**
 * Reads up to `scanLimit` acts before a position, the newest first.
 * @returns up to `limit` of these acts that match
 */
export async function listMatchingActs(
  db: Queryable,
  systemId: string,
  filters: ActFilters,
  before: TimePosition,
  { scanLimit, limit }: { readonly scanLimit: number; readonly limit: number },
): Promise<ScannedActs> {
  const { partnerId, actor, action, subject, since, until } = filters;
  const values = [systemId, partnerId, actor, action, subject, since, until, before.at, before.id, scanLimit, limit];
  const rows = await db.query<SearchRow>(searches[indexFor(filters)], values);
  // Every row repeats what was scanned, so the first one is enough.
  const { scanned, last_at: at, last_id: id } = oneRow(rows.slice(0, 1));
  const matches = rows.flatMap(({ scanned: _scanned, last_at: _at, last_id: _id, ...row }) =>
    row.id === null ? [] : [row],
  );
  return { scanned, last: at === null || id === null ? null : { at: at.toISOString(), id }, matches };
}
