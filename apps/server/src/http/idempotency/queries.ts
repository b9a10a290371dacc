import { IDEMPOTENCY_KEY_HOURS } from "@bikeshare/contract";
import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/*
 * The answers to calls, which are stored so that a repeated call gets the first answer (service.ts). A call that runs alone
 * claims its name before it runs: `claimCall`, then `updateAnswer`, or `findAnswer` if it repeats another. Of calls that
 * share a transaction, the stored answers are read while the work begins, and again for those that were rejected
 * (`listAnswers`). The new answers are stored at the end (`insertAnswers`).
 */

/** Identifies a call that may be repeated. An `Idempotency-Key` is valid only for one caller and one path. */
export interface CallName {
  readonly systemId: string;
  /** The partner's id, or `operator`. */
  readonly caller: string;
  readonly path: string;
  readonly key: string;
}

/** A call that was answered. */
export interface AnsweredCall {
  readonly body_hash: Uint8Array;
  readonly status: number;
  readonly body: string;
}

const answer = columnsOfTable("idempotency_keys").without("system_id", "created_at");
const names = answer.only("caller", "path", "key");

/** An answer with the name of its call. */
export interface AnswerRow extends RowOf<typeof names>, AnsweredCall {}

// To claim a call is to insert the row of its name, on which any other transaction that claims it waits. A row that is
// too old to count is overwritten. A row that counts is locked, so that it exists until it is read.
const claim = statement(
  "idempotency.claim",
  `insert into idempotency_keys (system_id, caller, path, key, body_hash, created_at)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (system_id, caller, path, key) do update
     set body_hash = excluded.body_hash, status = null, body = null, created_at = excluded.created_at
     where idempotency_keys.created_at < $7
   returning key`,
);

const find = statement(
  "idempotency.find",
  `select body_hash, status, body from idempotency_keys
   where system_id = $1 and caller = $2 and path = $3 and key = $4`,
);

const keep = statement(
  "idempotency.keep",
  `update idempotency_keys set status = $5, body = $6
   where system_id = $1 and caller = $2 and path = $3 and key = $4`,
);

// Looks up each row by the primary key (`lateral` with `limit 1`), whatever the table's statistics are.
const list = statement(
  "idempotency.list",
  `select name.*, found.* from ${names.unnest(2, "name")}
   cross join lateral (
     select body_hash, status, body, created_at from idempotency_keys
     where system_id = $1 and caller = name.caller and path = name.path and key = name.key limit 1) as found`,
);

// A row that is too old to count is overwritten. For a row that counts, `created_at` would become null, which the column
// refuses, so the statement fails: another process has answered the call. The order is the same in every process, so that
// two of them never wait for each other's rows. `placed` is the system's row in `placed_systems` (`rowsOfSystem`).
const insertAll = statement(
  "idempotency.insert",
  `insert into idempotency_keys (system_id, created_at, ${answer.list()})
   select placed.system_id, $2::timestamptz, ${answer.list()} from ${rowsOfSystem(answer.unnest(3, "w"))}
   order by caller, path, key
   on conflict (system_id, caller, path, key) do update
     set body_hash = excluded.body_hash, status = excluded.status, body = excluded.body,
       created_at = case when excluded.created_at - idempotency_keys.created_at > interval '${IDEMPOTENCY_KEY_HOURS} hours'
         then excluded.created_at end`,
);

const forget = statement(
  "idempotency.forget",
  `with old as materialized (
     select caller, path, key from idempotency_keys
     where system_id = $1 and created_at < $2
     order by created_at limit $3 for update skip locked),
   deleted as (
     delete from idempotency_keys as keys using old
     where keys.system_id = $1 and keys.caller = old.caller and keys.path = old.path and keys.key = old.key
     returning 1)
   select count(*) as n from deleted`,
);

/**
 * Claims a call for this transaction. If another transaction has claimed the call, waits for it up to `lockTimeoutMs`.
 * @returns false when the call has been answered already
 * @throws Error with the code 55P03 when the other transaction was still running
 */
export async function claimCall(
  tx: Transaction,
  call: CallName,
  bodyHash: Uint8Array,
  times: { readonly now: Date; readonly forgottenBefore: Date },
  lockTimeoutMs: number,
): Promise<boolean> {
  await tx.run(`set local lock_timeout = ${lockTimeoutMs}`);
  const values = [...nameOf(call), bodyHash, times.now, times.forgottenBefore];
  const claimed = (await tx.query(claim, values)).length === 1;
  await tx.run("set local lock_timeout = default");
  return claimed;
}

/** Returns the stored answer of a call. */
export async function findAnswer(tx: Transaction, call: CallName): Promise<AnsweredCall> {
  return oneRow(await tx.query<AnsweredCall>(find, nameOf(call)));
}

/** Stores the answer of a call. */
export async function updateAnswer(tx: Transaction, call: CallName, status: number, body: string): Promise<void> {
  await tx.query(keep, [...nameOf(call), status, body]);
}

/** Returns the stored answers of calls of a system, including those that are too old to count. Locks nothing. */
export async function listAnswers(
  tx: Transaction,
  systemId: string,
  calls: readonly RowOf<typeof names>[],
): Promise<(AnswerRow & { readonly created_at: Date })[]> {
  return calls.length === 0 ? [] : tx.query(list, [systemId, ...names.arrays(calls)]);
}

/** Stores answers of calls. The transaction fails if one of the calls has been answered, or is being answered, elsewhere. */
export function insertAnswers(tx: Transaction, systemId: string, rows: readonly AnswerRow[], now: Date): void {
  if (rows.length > 0) tx.send(insertAll, [systemId, now, ...answer.arrays(rows)]);
}

/** Deletes calls of a system that were answered before an instant, `limit` at most. @returns how many */
export async function deleteCalls(db: Queryable, systemId: string, before: Date, limit: number): Promise<number> {
  return oneRow(await db.query<{ n: number }>(forget, [systemId, before, limit])).n;
}

function nameOf({ systemId, caller, path, key }: CallName): readonly string[] {
  return [systemId, caller, path, key];
}
