import { eventNames } from "@bikeshare/contract";
import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { CHANGED } from "../../storage/db/sql-fragments.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";

// The statements that remove a rider's reference from every table that may contain it, and those that search for it. The
// reference is the `rider_ref` of a reservation: the partner's own text for the rider. service.ts removes it from reservations
// (`updateReservations`), from JSON in the tables of `jsonTables` (`updateJson`), from receivers' responses (`updateAnswers`)
// and from details of requests (`updateRequests`). Then it searches every table for what is left (`listTablesWith`).

/** A table whose rows may contain a reservation as JSON. */
interface JsonTable {
  readonly table: "event_outbox" | "events" | "webhook_bodies" | "webhook_attempts" | "idempotency_keys";
  readonly column: string;
  /** The column with the day, for a table by day. Its days are changed one at a time, so that no transaction is long. */
  readonly day?: string;
  /** A condition that skips rows which cannot contain a reference. */
  readonly only?: string;
  /** A further change to rows from which a reference is removed. */
  readonly also?: string;
}

const reservationEvents = eventNames.filter((name) => name.startsWith("reservation."));
const aboutReservations = (column: string) =>
  `${column} in (${reservationEvents.map((name) => `'${name}'`).join(", ")})`;

/** SQL: whether a row, called `kept`, belongs to a partner; for tables without a column `partner_id`. */
const partnersRows: Readonly<Record<string, (partner: string) => string>> = {
  webhook_attempts: (partner) =>
    `kept.endpoint_id in (select id from webhook_endpoints where system_id = $1 and partner_id = ${partner})`,
  webhook_bodies: (partner) => `exists (
    select from webhook_deliveries delivery
      join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = delivery.endpoint_id
    where delivery.system_id = $1 and delivery.created_on = kept.created_on and delivery.event_id = kept.event_id
      and endpoint.partner_id = ${partner})`,
  idempotency_keys: (partner) => `kept.caller = ${partner}`,
};
/** SQL: whether a row, called `kept`, of a table belongs to the partner in a parameter; true if the parameter is null. */
const isPartners = (table: string, partner: string) =>
  `(${partner}::text is null or ${partnersRows[table]?.(partner) ?? `kept.partner_id = ${partner}`})`;

// In the order in which an event moves from table to table, so that an event that moves meanwhile is found in the next
// table.
const jsonTables: readonly JsonTable[] = [
  { table: "event_outbox", column: "data", only: aboutReservations("name") },
  { table: "events", column: "data", day: "recorded_on", only: aboutReservations("name") },
  { table: "webhook_bodies", column: "data", day: "created_on", only: aboutReservations("event") },
  // Deletes the response, too, because a partner's server may repeat the payload in another form.
  {
    table: "webhook_attempts",
    column: "request_body",
    day: "started_on",
    also: ", response_body = null, response_headers = null",
  },
  { table: "idempotency_keys", column: "body" },
];

const ofReservations = statement(
  "forget.reservations",
  `with forgotten as (
     update reservations set ${CHANGED}, rider_ref = null, updated_at = greatest(updated_at, $3::timestamptz)
     where system_id = $1 and rider_ref = $2 and ($4::text is null or partner_id = $4) returning 1)
   select count(*) as n from forgotten`,
);
const partnersWith = statement(
  "forget.partners",
  `select id, name from partners
   where system_id = $1 and id in (select partner_id from reservations where system_id = $1 and rider_ref = $2)
   order by id limit 10`,
);
// `body.` qualifies the column with which the condition of `aboutReservations` begins.
const underWay = statement(
  "forget.underWay",
  `select queued.delivery_id || ' ' || queued.claim as claim
   from webhook_queue queued
     join webhook_bodies body on body.system_id = $1 and body.created_on = queued.created_on and body.event_id = queued.event_id
   where queued.system_id = $1 and queued.claim is not null and body.${aboutReservations("event")}`,
);
// A response of a partner's server is bytes, perhaps of no text: it is deleted as a whole.
const ofAnswers = statement(
  "forget.answers",
  `with forgotten as (
     update webhook_attempts kept set response_body = null, response_headers = null
     where system_id = $1 and position(convert_to($2, 'UTF8') in response_body) > 0 and ${isPartners("webhook_attempts", "$3")}
     returning 1)
   select count(*) as n from forgotten`,
);
// The details of a refused request are deleted as a whole: queries and messages may hold the reference in any form. $2 is
// the reference as a JSON string. $3 and $4 are the reference as `redactTarget` of request-log/refused-details.rules.ts
// writes it: in a query, and in a path. The appended separators let the last value of a query, and the last part of a path,
// match too.
const ofRequests = statement(
  "forget.requests",
  `with forgotten as (
     update request_log set message = null, target = null, body = null, body_bytes = null
     where system_id = $1 and (position($2 in body) > 0 or position($2 in message) > 0
       or position('=' || $3 || '&' in target || '&') > 0
       or position('/' || $4 || '/' in split_part(target, '?', 1) || '/') > 0)
       and ($5::text is null or partner_id = $5)
     returning 1)
   select count(*) as n from forgotten`,
);
const contains = ({ column, only }: JsonTable) =>
  `${only === undefined ? "" : `${only} and `}position($2 in ${column}) > 0`;
const daysOf = (table: JsonTable): Statement =>
  statement(
    `forget.days.${table.table}`,
    `select distinct ${table.day} as day from ${table.table} where system_id = $1`,
  );
// Replaces the text $2 by $3 in the rows of the partner $4, in a table by day only in those of the day $5.
const ofTable = (table: JsonTable): Statement =>
  statement(
    `forget.${table.table}`,
    `with forgotten as (
       update ${table.table} kept set ${table.column} = replace(${table.column}, $2, $3)${table.also ?? ""}
       where system_id = $1 and ${table.day === undefined ? "" : `${table.day} = $5::date and `}${contains(table)}
         and ${isPartners(table.table, "$4")} returning 1)
     select count(*) as n from forgotten`,
  );

type Count = { readonly n: number };

/** Returns the tables whose rows may contain a reservation as JSON, in the order in which they are to be changed. */
export function listJsonTables(): readonly JsonTable[] {
  return jsonTables;
}

/** The rows to change: those of a partner, or with null those of all partners. */
export interface ForgetScope {
  readonly systemId: string;
  readonly partnerId: string | null;
}

/** A partner that has used a reference. */
export interface PartnerWithRider {
  readonly id: string;
  readonly name: string;
}

/** Returns the partners with reservations of a rider, ten at most. */
export function listPartnersWith(db: Queryable, systemId: string, riderRef: string): Promise<PartnerWithRider[]> {
  return db.query<PartnerWithRider>(partnersWith, [systemId, riderRef]);
}

const sandboxes = statement(
  "forget.sandboxes",
  "select system_id from sandboxes where live_system_id = $1 and ($2::text is null or partner_id = $2) order by system_id",
);

/** Returns the sandboxes of a system's partners. @param partnerId null: of all */
export async function listSandboxesOf(db: Queryable, { systemId, partnerId }: ForgetScope): Promise<string[]> {
  const rows = await db.query<{ system_id: string }>(sandboxes, [systemId, partnerId]);
  return rows.map(({ system_id }) => system_id);
}

/**
 * Returns a text for each webhook about a reservation that a worker has in its memory now: the delivery's id and the token
 * of its claim. The worker writes the payload into the log after the receiver has answered.
 */
export async function listUnderWay(db: Queryable, systemId: string): Promise<string[]> {
  return (await db.query<{ claim: string }>(underWay, [systemId])).map(({ claim }) => claim);
}

/** Removes a rider's reference from reservations. @returns from how many */
export async function updateReservations(
  db: Queryable,
  { systemId, partnerId }: ForgetScope,
  riderRef: string,
  at: Date,
): Promise<number> {
  return oneRow(await db.query<Count>(ofReservations, [systemId, riderRef, at, partnerId])).n;
}

/** A rider's reference as a field of this service's JSON (`json`), and as any JSON string (`quoted`). */
export interface WrittenReference {
  readonly json: string;
  readonly quoted: string;
}

/** Deletes the stored responses of receivers that contain a text. @returns how many */
export async function updateAnswers(
  db: Queryable,
  { systemId, partnerId }: ForgetScope,
  text: string,
): Promise<number> {
  return oneRow(await db.query<Count>(ofAnswers, [systemId, text, partnerId])).n;
}

/** Removes the stored details of rejected requests that name a rider. @returns the number of requests */
export async function updateRequests(
  db: Queryable,
  { systemId, partnerId }: ForgetScope,
  riderRef: string,
): Promise<number> {
  // A query encodes some characters otherwise than a path does, such as a space as `+`.
  const [, inQuery] = new URLSearchParams({ rider_ref: riderRef }).toString().split("=");
  const inPath = encodeURIComponent(riderRef);
  const values = [systemId, JSON.stringify(riderRef), inQuery, inPath, partnerId];
  return oneRow(await db.query<Count>(ofRequests, values)).n;
}

/** Replaces a text in the JSON of a table's rows. @returns in how many */
export async function updateJson(
  db: Queryable,
  { systemId, partnerId }: ForgetScope,
  table: JsonTable,
  [from, to]: readonly [from: string, to: string],
): Promise<number> {
  const values = [systemId, from, to, partnerId];
  if (table.day === undefined) return oneRow(await db.query<Count>(ofTable(table), values)).n;
  let changed = 0;
  for (const { day } of await db.query<{ day: string }>(daysOf(table), [systemId]))
    changed += oneRow(await db.query<Count>(ofTable(table), [...values, day])).n;
  return changed;
}

// Does not search `trip_upload_parts`: a trip file may contain by chance a text that is also a reference, and its bytes are
// deleted within hours.
const searchedTables = statement(
  "forget.searchedTables",
  `select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns,
     array_agg(t.typname::text order by a.attnum) as types,
     exists (select from pg_attribute s where s.attrelid = c.oid and s.attname = 'system_id') as "hasSystem"
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type t on t.oid = a.atttypid
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and c.relname <> 'trip_upload_parts' and t.typname in ('text', 'varchar', 'bpchar', 'json', 'jsonb', 'bytea', '_text', '_varchar')
   group by c.oid order by c.relname collate "C"`,
);

interface SearchedTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly types: readonly string[];
  readonly hasSystem: boolean;
}

/** SQL: whether a column contains a reference: $2 is the reference, $3 the JSON field with it, $4 the JSON string. */
function mentions(column: string, type: string): string {
  const name = quoteIdentifier(column);
  if (column === "rider_ref") return `${name} = $2`;
  if (type === "bytea") return `position(convert_to($4, 'UTF8') in ${name}) > 0`;
  // PostgreSQL writes its own JSON with spaces.
  return `position($3 in replace(${name}::text, '": "', '":"')) > 0`;
}

/**
 * Returns the tables that contain a rider's reference in the rows of `ForgetScope`: in a column `rider_ref`, as that field
 * of JSON in any other text column, or as a JSON string in a column of bytes. Reads the columns from the database, so that
 * later additions to the schema are included.
 */
export async function listTablesWith(
  db: Queryable,
  { systemId, partnerId }: ForgetScope,
  riderRef: string,
  { json, quoted }: WrittenReference,
): Promise<string[]> {
  const found: string[] = [];
  for (const { name, columns, types, hasSystem } of await db.query<SearchedTable>(searchedTables)) {
    // The statement uses every parameter, in conditions that are always true where it does not need one: PostgreSQL rejects
    // a parameter whose type it cannot tell.
    const any = columns.map((column, index) => mentions(column, types[index] ?? "")).join(" or ");
    const isOwned = name in partnersRows || columns.includes("partner_id");
    const text = `select 1 from ${quoteIdentifier(name)} kept
      where ${hasSystem ? "system_id = $1" : "$1::text <> ''"} and $2::text <> '' and $3::text <> '' and $4::text <> ''
        and ${isOwned ? isPartners(name, "$5") : "($5::text is null or $5 <> '')"} and (${any})
      limit 1`;
    const rows = await db.query({ name: "", text }, [systemId, riderRef, json, quoted, partnerId]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
