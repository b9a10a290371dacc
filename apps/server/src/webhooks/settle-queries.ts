import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** What became of a claimed delivery, with everything the log keeps of the attempt. */
export interface SettledRow {
  readonly delivery_id: string;
  /** Under which token it was claimed. */
  readonly claim: number;
  readonly created_on: string;
  readonly endpoint_id: string;
  readonly number: number;
  readonly tries: number;
  readonly state: "succeeded" | "failed" | "pending";
  readonly next_at: Date | null;
  readonly next_why: string | null;
  readonly started_at: Date;
  readonly outcome: "succeeded" | "rejected" | "failed" | "unknown";
  readonly failure: string | null;
  readonly detail: string | null;
  readonly url: string;
  /** JSON: an array of pairs, as they went. */
  readonly request_headers: string | null;
  readonly request_body: string | null;
  readonly remote_address: string | null;
  readonly status: number | null;
  /** JSON: an array of pairs, as they came. */
  readonly response_headers: string | null;
  readonly response_body: Uint8Array | null;
  readonly response_cut: boolean;
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly total_ms: number | null;
}

const columns = {
  delivery_id: "text",
  claim: "bigint",
  created_on: "date",
  endpoint_id: "text",
  number: "smallint",
  tries: "smallint",
  state: "text",
  next_at: "timestamptz",
  next_why: "text",
  started_at: "timestamptz",
  outcome: "text",
  failure: "text",
  detail: "text",
  url: "text",
  request_headers: "text",
  request_body: "text",
  remote_address: "text",
  status: "smallint",
  response_headers: "text",
  response_body: "bytea",
  response_cut: "boolean",
  dns_ms: "real",
  connect_ms: "real",
  tls_ms: "real",
  first_byte_ms: "real",
  total_ms: "real",
} as const satisfies Record<keyof SettledRow, string>;
// Object.keys types its result as string[]; the keys are those of the literal above.
const names = Object.keys(columns) as (keyof SettledRow)[];
const arrays = names.map((name, index) => `$${index + 3}::${columns[name]}[]`).join(", ");

/*
 * Only what is still claimed under the same token for the same attempt is written: whoever lost the lane meanwhile
 * writes nothing, and a commit whose answer got lost can be tried again, even where the next attempt has begun.
 *
 * Rows are looked up one by one and then written by their places, so that a plan made for empty tables has no join whose
 * order it could turn round.
 */
const settle = statement(
  "settle.write",
  `with result as materialized (
     select * from unnest(${arrays}) as result (${names.join(", ")})),
   found as materialized (
     select result.*, due.place
     from result cross join lateral (
       select ctid as place from webhook_due
       where system_id = $1 and delivery_id = result.delivery_id and claim = result.claim
         and attempts = result.number - 1
       for update) as due),
   ended as (
     delete from webhook_due due using found
     where due.system_id = $1 and due.ctid = found.place and found.next_at is null
     returning found.*),
   again as (
     update webhook_due due
     set claim = null, claimed_at = null, due_at = found.next_at, attempts = found.number, tries = found.tries
     from found
     where due.system_id = $1 and due.ctid = found.place and found.next_at is not null
     returning found.*),
   mine as materialized (
     select * from ended union all select * from again),
   logged as (
     insert into webhook_attempts (system_id, started_on, delivery_id, number, endpoint_id, started_at, outcome, failure,
       detail, url, request_headers, request_body, remote_address, status, response_headers, response_body, response_cut,
       dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, next_at, next_why)
     select $1, started_at::date, delivery_id, number, endpoint_id, started_at, outcome, failure,
       detail, url, request_headers, request_body, remote_address, status, response_headers, response_body, response_cut,
       dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms, next_at, next_why
     from mine)
   update webhook_deliveries delivery
   set status = mine.state, stuck = mine.state = 'failed', attempts = mine.number,
     settled_at = case when mine.next_at is null then $2::timestamptz end
   from mine cross join lateral (
     select tableoid as part, ctid as place from webhook_deliveries
     where system_id = $1 and created_on = mine.created_on and id = mine.delivery_id
     for update) as row
   where delivery.system_id = $1 and delivery.created_on = mine.created_on and delivery.tableoid = row.part
     and delivery.ctid = row.place
   returning delivery.id`,
);

/** Writes results. @returns the ids of the deliveries that were still the writer's */
export async function writeResults(
  tx: Transaction,
  systemId: string,
  now: Date,
  results: readonly SettledRow[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(settle, [
    systemId,
    now,
    ...names.map((name) => results.map((result) => valueOf(result[name]))),
  ]);
  return rows.map(({ id }) => id);
}

/** In an array, pg would write bytes as a nested array; PostgreSQL reads them as hexadecimal text. */
function valueOf(value: SettledRow[keyof SettledRow]): unknown {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value;
}
