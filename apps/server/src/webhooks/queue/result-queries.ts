import { finished } from "node:stream/promises";
import { columnsOf, columnsOfTable, type WrittenRow } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { bigints, booleans, dates, rowEncoder, smallints, texts, timestamps } from "./binary-format.ts";
import { indexedMatch, matchesDelivery } from "./sql-fragments.ts";

/** The result of an attempt: what the log keeps of it, and what becomes of its delivery. */
export interface ResultRow
  extends
    WrittenRow<"webhook_attempts">,
    Pick<Tables["webhook_queue"], "created_on" | "replay" | "due_at" | "tries" | "crashes"> {
  /** The token under which it was claimed. */
  readonly claim: number;
  readonly state: "succeeded" | "failed" | "pending";
  /** What the delivery's row says of it: why it failed, and the code of a whole response. */
  readonly latest_failure: string | null;
  readonly latest_code: number | null;
}

/** What a result changes in the queue and in its delivery. Its position in the queue does not change while it is claimed. */
const queueColumns = columnsOf({
  delivery_id: texts,
  claim: bigints,
  created_on: dates,
  endpoint_id: texts,
  replay: booleans,
  due_at: timestamps,
  number: smallints,
  tries: smallints,
  crashes: smallints,
  state: texts,
  latest_failure: texts,
  latest_code: smallints,
  next_attempt_at: timestamps,
});
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
     set claim = null, claimed_at = null, due_at = result.next_attempt_at, attempts = result.number, tries = result.tries,
       crashes = result.crashes
     from result where ${isStillOurs} and result.next_attempt_at is not null
     returning result.*),
   mine as materialized (
     select * from finished union all select * from retried)
   update webhook_deliveries delivery
   set status = mine.state, attempts = mine.number, latest_code = mine.latest_code,
     latest_failure = mine.latest_failure,
     finished_at = case when mine.next_attempt_at is null then $2::timestamptz end
   from mine where ${matchesDelivery("mine")}
   returning delivery.id`,
);

const setAside = statement(
  "results.setAside",
  `with gone as (
     delete from webhook_queue queued where queued.system_id = $1 and queued.delivery_id = $2 and queued.claim = $3
     returning queued.system_id, queued.created_on, queued.endpoint_id, queued.delivery_id)
   update webhook_deliveries delivery
   set status = 'failed', latest_code = null, latest_failure = $4, finished_at = $5::timestamptz
   from gone where ${matchesDelivery("gone")}`,
);

/** Gives up a claimed delivery whose result cannot be stored. @param failure what its row says of that */
export async function updateSetAside(
  db: Queryable,
  systemId: string,
  { delivery_id: id, claim }: Pick<ResultRow, "delivery_id" | "claim">,
  failure: string,
  now: Date,
): Promise<void> {
  await db.query(setAside, [systemId, id, claim, failure, now]);
}

const logColumns = columnsOfTable("webhook_attempts");
const encodeLog = rowEncoder("webhook_attempts");

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
  if (ours.length > 0) await insertLog(tx, ours);
  return [...ids];
}

/** A copy takes PostgreSQL two thirds of an insert's time, and us as well. */
async function insertLog(tx: Transaction, attempts: readonly ResultRow[]): Promise<void> {
  const copying = await tx.copyIn(`copy webhook_attempts (${logColumns.list()}) from stdin (format binary)`);
  copying.end(encodeLog(attempts));
  await finished(copying);
}
