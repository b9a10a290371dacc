import { eventNames } from "@bikeshare/contract";
import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";

/** A table whose rows may contain a reservation as JSON. */
interface JsonTable {
  readonly table: "event_outbox" | "events" | "webhook_bodies" | "webhook_attempts" | "idempotency_keys";
  readonly column: string;
  /** The days of a table by day are changed one at a time, so that no transaction is long. */
  readonly day?: string;
  /** What rows that do not contain one are left out by. */
  readonly only?: string;
}

const reservationEvents = eventNames.filter((name) => name.startsWith("reservation."));
const aboutReservations = (column: string) =>
  `${column} in (${reservationEvents.map((name) => `'${name}'`).join(", ")})`;

// In the order in which an event gets from one to the next: what moves on meanwhile is found there.
const jsonTables: readonly JsonTable[] = [
  { table: "event_outbox", column: "data", only: aboutReservations("name") },
  { table: "events", column: "data", day: "recorded_on", only: aboutReservations("name") },
  { table: "webhook_bodies", column: "data", day: "created_on", only: aboutReservations("event") },
  { table: "webhook_attempts", column: "request_body", day: "started_on" },
  { table: "idempotency_keys", column: "body" },
];

const ofReservations = statement(
  "forget.reservations",
  `with forgotten as (
     update reservations set rider_ref = null, updated_at = greatest(updated_at, $3::timestamptz)
     where system_id = $1 and rider_ref = $2 returning 1)
   select count(*) as n from forgotten`,
);
const inReservations = statement(
  "forget.inReservations",
  "select count(*) as n from reservations where system_id = $1 and rider_ref = $2",
);
// What a partner's server answered may repeat what it was sent. It is bytes, perhaps of no text: it goes whole.
const ofAnswers = statement(
  "forget.answers",
  `with forgotten as (
     update webhook_attempts set response_body = null
     where system_id = $1 and position(convert_to($2, 'UTF8') in response_body) > 0 returning 1)
   select count(*) as n from forgotten`,
);
const inAnswers = statement(
  "forget.inAnswers",
  `select count(*) as n from webhook_attempts where system_id = $1 and position(convert_to($2, 'UTF8') in response_body) > 0`,
);
const contains = ({ column, only }: JsonTable) =>
  `${only === undefined ? "" : `${only} and `}position($2 in ${column}) > 0`;
const daysOf = (table: JsonTable): Statement =>
  statement(
    `forget.days.${table.table}`,
    `select distinct ${table.day} as day from ${table.table} where system_id = $1`,
  );
const inTable = (table: JsonTable): Statement =>
  statement(
    `forget.in.${table.table}`,
    `select count(*) as n from ${table.table} where system_id = $1 and ${contains(table)}`,
  );
const ofTable = (table: JsonTable): Statement =>
  statement(
    `forget.${table.table}`,
    `with forgotten as (
       update ${table.table} set ${table.column} = replace(${table.column}, $2, $3)
       where system_id = $1 and ${table.day === undefined ? "" : `${table.day} = $4::date and `}${contains(table)} returning 1)
     select count(*) as n from forgotten`,
  );

type Count = { readonly n: number };

/** The tables whose rows may contain one, in the order in which they are to be changed. */
export function listJsonTables(): readonly JsonTable[] {
  return jsonTables;
}

/** Takes a rider's reference from reservations. @returns how many */
export async function updateReservations(db: Queryable, systemId: string, riderRef: string, at: Date): Promise<number> {
  return oneRow(await db.query<Count>(ofReservations, [systemId, riderRef, at])).n;
}

/** Takes the kept answers that contain a text. @returns how many */
export async function updateAnswers(db: Queryable, systemId: string, text: string): Promise<number> {
  return oneRow(await db.query<Count>(ofAnswers, [systemId, text])).n;
}

/** Replaces a text in the JSON of a table's rows. @returns in how many */
export async function updateJson(
  db: Queryable,
  systemId: string,
  table: JsonTable,
  [from, to]: readonly [from: string, to: string],
): Promise<number> {
  if (table.day === undefined) return oneRow(await db.query<Count>(ofTable(table), [systemId, from, to])).n;
  let changed = 0;
  for (const { day } of await db.query<{ day: string }>(daysOf(table), [systemId]))
    changed += oneRow(await db.query<Count>(ofTable(table), [systemId, from, to, day])).n;
  return changed;
}

/**
 * In how many rows a rider's reference is left.
 * @param texts as it is in our own JSON, and in that of strangers
 */
export async function countLeft(
  db: Queryable,
  systemId: string,
  riderRef: string,
  texts: { readonly json: string; readonly quoted: string },
): Promise<number> {
  const count = async (of: Statement, text: string) => oneRow(await db.query<Count>(of, [systemId, text])).n;
  let left = (await count(inReservations, riderRef)) + (await count(inAnswers, texts.quoted));
  for (const table of jsonTables) left += await count(inTable(table), texts.json);
  return left;
}
