import { columnsOf } from "../../db/columns.ts";
import type { Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { TruncationReason } from "../rules/log-budget.ts";
import { bigints, booleans, byteas, dates, reals, smallints, texts, timestamps } from "./binary-array.ts";
import { indexedMatch, matchesDelivery } from "./sql-fragments.ts";

/** The result of an attempt, with everything that the log keeps of it. */
export interface ResultRow {
  readonly delivery_id: string;
  /** The token under which it was claimed. */
  readonly claim: number;
  readonly created_on: string;
  readonly endpoint_id: string;
  /** Its position in the queue: neither changes while it is claimed. */
  readonly replay: boolean;
  readonly due_at: Date;
  readonly number: number;
  readonly tries: number;
  readonly state: "succeeded" | "failed" | "pending";
  readonly next_attempt_at: Date | null;
  readonly next_attempt_reason: string | null;
  readonly started_at: Date;
  readonly outcome: "succeeded" | "rejected" | "failed" | "unknown";
  readonly failure: string | null;
  readonly detail: string | null;
  readonly url: string;
  /** JSON: an array of pairs, as they were sent. */
  readonly request_headers: string | null;
  readonly request_body: string | null;
  readonly remote_address: string | null;
  readonly status: number | null;
  /** JSON: an array of pairs, as they came. */
  readonly response_headers: string | null;
  readonly response_body: Uint8Array | null;
  readonly response_truncated: boolean;
  /** Why less is kept than came; null: nothing was cut, or only the limits for every response cut it. */
  readonly truncation_reason: TruncationReason | null;
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly total_ms: number | null;
}

const results = columnsOf<ResultRow>({
  delivery_id: texts,
  claim: bigints,
  created_on: dates,
  endpoint_id: texts,
  replay: booleans,
  due_at: timestamps,
  number: smallints,
  tries: smallints,
  state: texts,
  next_attempt_at: timestamps,
  next_attempt_reason: texts,
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
  response_truncated: booleans,
  truncation_reason: texts,
  dns_ms: reals,
  connect_ms: reals,
  tls_ms: reals,
  first_byte_ms: reals,
  total_ms: reals,
});

/** What a result changes in the queue and in its delivery. */
const queueColumns = results.only(
  "delivery_id",
  "claim",
  "created_on",
  "endpoint_id",
  "replay",
  "due_at",
  "number",
  "tries",
  "state",
  "next_attempt_at",
);

/** What the log keeps of an attempt. */
const logColumns = results.without("claim", "created_on", "replay", "due_at", "tries", "state");

/** The result's row in the queue, if it is still claimed under the same token for the same attempt. */
const isStillOurs = `${indexedMatch("queued", "result", {
  system_id: "system_id",
  endpoint_id: "endpoint_id",
  replay: "replay",
  due_at: "due_at",
  delivery_id: "delivery_id",
})} and queued.claim = result.claim and queued.attempts = result.number - 1`;

/*
 * A worker that has lost the lane writes nothing, and a commit whose answer was lost can be tried again, even where the
 * next attempt has begun.
 */
const finish = statement(
  "results.finish",
  `with result as materialized (
     select $1::text collate "C" as system_id, result.* from ${queueColumns.unnest(3, "result")}),
   finished as (
     delete from webhook_queue queued using result where ${isStillOurs} and result.next_attempt_at is null
     returning result.*),
   retried as (
     update webhook_queue queued
     set claim = null, claimed_at = null, due_at = result.next_attempt_at, attempts = result.number, tries = result.tries
     from result where ${isStillOurs} and result.next_attempt_at is not null
     returning result.*),
   mine as materialized (
     select * from finished union all select * from retried)
   update webhook_deliveries delivery
   set status = mine.state, stuck = mine.state = 'failed', attempts = mine.number,
     finished_at = case when mine.next_attempt_at is null then $2::timestamptz end
   from mine where ${matchesDelivery("mine")}
   returning delivery.id`,
);

const log = statement(
  "results.log",
  `insert into webhook_attempts (system_id, started_on, ${logColumns.list()})
   select $1, started_at::date, ${logColumns.list()} from ${logColumns.unnest(2, "result")}`,
);

/** Writes results. @returns the ids of the deliveries that were still the writer's */
export async function insertResults(
  tx: Transaction,
  systemId: string,
  now: Date,
  attempts: readonly ResultRow[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(finish, [systemId, now, ...queueColumns.arrays(attempts)]);
  const ids = new Set(rows.map(({ id }) => id));
  const ours = attempts.filter(({ delivery_id: id }) => ids.has(id));
  if (ours.length > 0) await tx.query(log, [systemId, ...logColumns.arrays(ours)]);
  return [...ids];
}
