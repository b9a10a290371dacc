import type { Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { CutReason } from "../rules/answer-budget.ts";
import { type ArrayOf, bigints, booleans, byteas, dates, reals, smallints, texts, timestamps } from "./binary-array.ts";
import { isDeliveryOf, isLookedUp } from "./looked-up.ts";

/** What became of a claimed delivery, with everything the log keeps of the attempt. */
export interface SettledRow {
  readonly delivery_id: string;
  /** Under which token it was claimed. */
  readonly claim: number;
  readonly created_on: string;
  readonly endpoint_id: string;
  /** Where it is in line: neither changes while it is claimed. */
  readonly replay: boolean;
  readonly due_at: Date;
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
  /** Why less is kept than came; null: only the limits that hold for every answer cut it, or nothing did. */
  readonly response_cut_for: CutReason | null;
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly total_ms: number | null;
}

/** The columns as arrays, each with one element for each result. */
const columns: { readonly [Name in keyof SettledRow]: ArrayOf<SettledRow[Name]> } = {
  delivery_id: texts,
  claim: bigints,
  created_on: dates,
  endpoint_id: texts,
  replay: booleans,
  due_at: timestamps,
  number: smallints,
  tries: smallints,
  state: texts,
  next_at: timestamps,
  next_why: texts,
  started_at: timestamps,
  outcome: texts,
  failure: texts,
  detail: texts,
  url: texts,
  request_headers: texts,
  request_body: texts,
  remote_address: texts,
  status: smallints,
  response_headers: texts,
  response_body: byteas,
  response_cut: booleans,
  response_cut_for: texts,
  dns_ms: reals,
  connect_ms: reals,
  tls_ms: reals,
  first_byte_ms: reals,
  total_ms: reals,
};

type ColumnName = keyof SettledRow;

/** SQL that gives results as rows, the system being `$1`. @param first the number of the first column's parameter */
function rowsOf(names: readonly ColumnName[], first: number): string {
  const arrays = names.map((name, index) => `$${index + first}::${columns[name].type}[]`);
  return `unnest(${arrays.join(", ")}) as result (${names.join(", ")})`;
}

function arraysOf(names: readonly ColumnName[], results: readonly SettledRow[]): Buffer[] {
  return names.map((name) => arrayOf(name, results));
}

function arrayOf<Name extends ColumnName>(name: Name, results: readonly SettledRow[]): Buffer {
  return columns[name].encode(results.map((result) => result[name]));
}

const moved = [
  "delivery_id",
  "claim",
  "created_on",
  "endpoint_id",
  "replay",
  "due_at",
  "number",
  "tries",
  "state",
  "next_at",
] as const;

/** The result's row in line, if it is still claimed under the same token for the same attempt. */
const isStillOurs = `${isLookedUp("due", "result", {
  system_id: "system_id",
  endpoint_id: "endpoint_id",
  replay: "replay",
  due_at: "due_at",
  delivery_id: "delivery_id",
})} and due.claim = result.claim and due.attempts = result.number - 1`;

/*
 * Whoever lost the lane meanwhile writes nothing, and a commit whose answer got lost can be tried again, even where the
 * next attempt has begun.
 */
const move = statement(
  "settle.move",
  `with result as materialized (
     select $1::text collate "C" as system_id, result.* from ${rowsOf(moved, 3)}),
   ended as (
     delete from webhook_queue due using result where ${isStillOurs} and result.next_at is null
     returning result.*),
   again as (
     update webhook_queue due
     set claim = null, claimed_at = null, due_at = result.next_at, attempts = result.number, tries = result.tries
     from result where ${isStillOurs} and result.next_at is not null
     returning result.*),
   mine as materialized (
     select * from ended union all select * from again)
   update webhook_deliveries delivery
   set status = mine.state, stuck = mine.state = 'failed', attempts = mine.number,
     finished_at = case when mine.next_at is null then $2::timestamptz end
   from mine where ${isDeliveryOf("mine")}
   returning delivery.id`,
);

const logged = [
  "delivery_id",
  "number",
  "endpoint_id",
  "started_at",
  "outcome",
  "failure",
  "detail",
  "url",
  "request_headers",
  "request_body",
  "remote_address",
  "status",
  "response_headers",
  "response_body",
  "response_cut",
  "response_cut_for",
  "dns_ms",
  "connect_ms",
  "tls_ms",
  "first_byte_ms",
  "total_ms",
  "next_at",
  "next_why",
] as const;

const log = statement(
  "settle.log",
  `insert into webhook_attempts (system_id, started_on, ${logged.join(", ")})
   select $1, started_at::date, ${logged.join(", ")} from ${rowsOf(logged, 2)}`,
);

/** Writes results. @returns the ids of the deliveries that were still the writer's */
export async function writeResults(
  tx: Transaction,
  systemId: string,
  now: Date,
  results: readonly SettledRow[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(move, [systemId, now, ...arraysOf(moved, results)]);
  const ids = new Set(rows.map(({ id }) => id));
  const ours = results.filter(({ delivery_id: id }) => ids.has(id));
  if (ours.length > 0) await tx.query(log, [systemId, ...arraysOf(logged, ours)]);
  return [...ids];
}
