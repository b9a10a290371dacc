import type { FoundEntry } from "@bikeshare/contract/console";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

/* Statements of the dashboard's search, and of the names that its pages show for ids. */

/** The typed text, in the forms in which it is searched for. */
export interface SearchText {
  /** The whole text, which is compared with ids. */
  readonly id: string;
  /** A pattern of `like` for the beginning of a bike's number. */
  readonly beginning: string;
  /** A pattern of `like` for each word. */
  readonly words: readonly string[];
  /** Maximum rows of each kind whose names are read, in the order of their ids. */
  readonly maxRows: number;
}

// In the searches, `$3` has the words of the typed text and `$5` the maximum of rows. `$4` is the beginning of a bike's
// number in the operator's search, and the partner's id in a partner's.
const words = "all (array(select lower(word) from unnest($3::text[]) as word))";

const stationById = (more: string) =>
  `(select 'station' as kind, id, name from stations where system_id = $1 and id = $2${more})`;
const stationsByName = `(
  select 'station' as kind, id, name
  from (select id, name, status from stations where system_id = $1 order by id limit $5) as stations
  where status <> 'removed' and lower(name) like ${words} order by length(name), name, id limit 5)`;

// The newest first: of keys that replaced each other, the newest is the one that works.
const keysByName = (more: string) => `(
  select 'key' as kind, id, name
  from (select id, name, created_at from keys where system_id = $1${more} order by id limit $5) as keys
  where lower(name) like ${words} order by created_at desc, id desc limit 3)`;

const ofOperator = statement(
  "search.operator",
  `${stationById("")}
   union all (select 'bike' as kind, id, number as name from bikes where system_id = $1 and id = $2)
   union all (select 'ride' as kind, id, null as name from rides where system_id = $1 and id = $2)
   union all (select 'reservation' as kind, id, null as name from reservations where system_id = $1 and id = $2)
   union all (select 'partner' as kind, id, name from partners where system_id = $1 and id = $2)
   union all ${stationsByName}
   union all (
     select 'partner' as kind, id, name
     from (select id, name, removed_at from partners where system_id = $1 order by id limit $5) as partners
     where removed_at is null and lower(name) like ${words} order by length(name), name, id limit 3)
   union all ${keysByName("")}
   union all (
     select 'bike' as kind, id, number as name
     from (select id, number from bikes where system_id = $1 order by id limit $5) as bikes
     where lower(number) like lower($4) order by length(number), number, id limit 2)`,
);

// `deliveries` is no item but a link to the partner's deliveries about the resource with this id.
const ofPartner = statement(
  "search.partner",
  `${stationById(" and status <> 'removed'")}
   union all (
     select 'deliveries' as kind, $2 as id, null as name
     where exists (
       select from webhook_deliveries where system_id = $1 and resource_id = $2 and endpoint_id = any(array(
         select id from webhook_endpoints where system_id = $1 and partner_id = $4))))
   union all ${stationsByName}
   union all ${keysByName(" and partner_id = $4")}`,
);

/**
 * Returns the operator's search results: matches of the id first, then matches of names. An item that matches both ways
 * appears twice; `search` removes the second.
 */
export function findForOperator(db: Queryable, systemId: string, text: SearchText): Promise<FoundEntry[]> {
  return db.query<FoundEntry>(ofOperator, [systemId, text.id, text.words, text.beginning, text.maxRows]);
}

/** Returns a partner's search results. */
export function findForPartner(
  db: Queryable,
  { systemId, partnerId }: { readonly systemId: string; readonly partnerId: string },
  text: SearchText,
): Promise<FoundEntry[]> {
  return db.query<FoundEntry>(ofPartner, [systemId, text.id, text.words, partnerId, text.maxRows]);
}

const names = statement(
  "search.names",
  `(select 'station' as kind, id, name from stations where system_id = $1 and id = any($2))
   union all (select 'bike' as kind, id, number as name from bikes where system_id = $1 and id = any($3) and number is not null)`,
);

interface NamedRow {
  readonly kind: "station" | "bike";
  readonly id: string;
  readonly name: string;
}

/** Returns the names of the stations and the numbers of the bikes that the items of a page refer to. */
export function listNames(
  db: Queryable,
  systemId: string,
  { stations, bikes }: { readonly stations: ReadonlySet<string>; readonly bikes: ReadonlySet<string> },
): Promise<NamedRow[]> {
  return db.query<NamedRow>(names, [systemId, [...stations], [...bikes]]);
}

const subjectNames = statement(
  "search.subjectNames",
  `select 'station' as kind, id, name from stations where system_id = $1 and id = any($2)
   union all select 'bike', id, number from bikes where system_id = $1 and id = any($2) and number is not null
   union all select 'region', id, name from regions where system_id = $1 and id = any($2)
   union all select 'system', system_id, name from systems where system_id = $1 and system_id = any($2)
   union all select 'partner', id, name from partners where system_id = $1 and id = any($2)
   union all (
     select 'webhook', e.id, 'Webhook “' || e.name || '” of ' || p.name
     from webhook_endpoints e join partners p on p.system_id = $1 and p.id = e.partner_id
     where e.system_id = $1 and e.id = any($2))
   union all select 'key', id, name from keys where system_id = $1 and id = any($2) and name is not null
   union all select 'person', id, name from people where id = any($2)`,
);

/** A subject of any kind, with its name. */
export interface NamedSubject {
  readonly kind: "station" | "bike" | "region" | "system" | "partner" | "webhook" | "key" | "person";
  readonly id: string;
  readonly name: string;
}

/** Returns the names of the subjects of entries in the audit log. Subjects of several kinds may have the same id. */
export function listSubjectNames(
  db: Queryable,
  systemId: string,
  ids: ReadonlySet<string>,
): Promise<readonly NamedSubject[]> {
  return db.query<NamedSubject>(subjectNames, [systemId, [...ids]]);
}
