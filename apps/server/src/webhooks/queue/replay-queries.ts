import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import {
  indexedMatch,
  insertIntoQueue,
  IS_TAKING_HELD,
  isTest,
  matchesDelivery,
  PENDING_AGAIN,
  UNLESS_QUEUED,
} from "./sql-fragments.ts";

/*
 * Statements of replays: they record which deliveries a replay sends, queue them in batches, and finish or stop the replay.
 * Most replays have items: one row for each delivery, recorded at once. A replay of held deliveries has none. It finds the
 * next batch by `next_held_at`, the creation time at which its search goes on. Replays of a period begin here
 * (`insertReplay`), those of held deliveries in held-queries.ts, those of deliveries that a person chose (`is_choice`) in
 * log/bulk-resend-queries.ts.
 */

/** SQL that is true for a replay that has more to queue, also if a process of the previous release took it for finished. */
const IS_UNFINISHED = `(finished_at is null or ${IS_TAKING_HELD})`;

/** A replay as it is stored. */
export type ReplayRow = Pick<
  Tables["webhook_replays"],
  "id" | "since" | "until" | "total" | "queued" | "created_at" | "finished_at"
>;

const columns = "id, since, until, total, queued, created_at, finished_at";

/** Chooses deliveries of an endpoint: created in [since, until), with one of the statuses, not pending, and not a test. */
export interface ReplayRange {
  readonly systemId: string;
  readonly endpointId: string;
  readonly since: Date;
  readonly until: Date;
  readonly statuses: readonly Tables["webhook_deliveries"]["status"][];
}

const chosen = `from webhook_deliveries
  where system_id = $1 and endpoint_id = $2 and created_on between $3::timestamptz::date and $4::timestamptz::date
    and created_at >= $3 and created_at < $4 and status = any($5::text[]) and status <> 'pending'
    and not ${isTest("id")}`;

const count = statement("replays.count", `select count(*) as total ${chosen}`);

/** Returns how many deliveries a replay of a range would send. */
export async function countReplayable(db: Queryable, range: ReplayRange): Promise<number> {
  return oneRow(await db.query<{ total: number }>(count, rangeValues(range))).total;
}

/**
 * Deliveries that one statement records for a replay, in some hundred milliseconds. Too high: the statement exceeds its time
 * limit.
 */
const NOTED_ROWS = 20_000;

// Records the deliveries that follow a position, in the order of the endpoint's index. One statement counts and writes them,
// in one snapshot, so the count equals the number of recorded items.
const note = statement(
  "replays.note",
  `with next as materialized (
     select created_on, id, created_at ${chosen} and (created_at, id) > ($7::timestamptz, $8)
     order by created_at, id limit $9),
   items as (
     insert into webhook_replay_items (system_id, replay_id, created_on, delivery_id)
     select $1, $6, created_on, id from next)
   select created_at, id, count(*) over () as n from next order by created_at desc, id desc limit 1`,
);

const insert = statement(
  "replays.insert",
  `insert into webhook_replays (system_id, id, endpoint_id, since, until, total, created_at, finished_at)
   values ($1, $2, $3, $4, $5, $6::bigint, $7, case when $6::bigint = 0 then $7::timestamptz end)
   returning ${columns}`,
);

// Deletes replays that ended 30 days ago, because their deliveries are no longer stored.
const deletePast = statement(
  "replays.deletePast",
  "delete from webhook_replays where system_id = $1 and finished_at < $2::timestamptz - interval '30 days'",
);

/**
 * Inserts a replay of a range, and deletes replays that ended long ago. Records its deliveries in batches of `notedRows`; no
 * worker sees any before the transaction ends.
 */
export async function insertReplay(
  tx: Transaction,
  range: ReplayRange,
  id: string,
  now: Date,
  notedRows = NOTED_ROWS,
): Promise<ReplayRow> {
  const { systemId, endpointId, since, until } = range;
  await tx.query(deletePast, [systemId, now]);
  type Delivery = Pick<Tables["webhook_deliveries"], "created_at" | "id">;
  // The empty id sorts first, so deliveries created at `since` are included.
  let after: Delivery = { created_at: since, id: "" };
  let total = 0;
  let isFull = true;
  // A batch that is not full is the last.
  while (isFull) {
    const values: unknown[] = [...rangeValues(range), id, after.created_at, after.id, notedRows];
    // The last delivery of the batch; undefined: the batch is empty.
    const [last]: (Delivery & { readonly n: number })[] = await tx.query(note, values);
    total += last?.n ?? 0;
    isFull = last?.n === notedRows;
    after = last ?? after;
  }
  return oneRow(await tx.query<ReplayRow>(insert, [systemId, id, endpointId, since, until, total, now]));
}

function rangeValues({ systemId, endpointId, since, until, statuses }: ReplayRange): unknown[] {
  return [systemId, endpointId, since, until, statuses];
}

const latest = statement(
  "replays.latest",
  `select ${columns} from webhook_replays where system_id = $1 and endpoint_id = $2 order by id desc limit $3`,
);

/** Lists an endpoint's latest replays. */
export function listLatestReplays(
  db: Queryable,
  systemId: string,
  endpointId: string,
  limit: number,
): Promise<ReplayRow[]> {
  return db.query<ReplayRow>(latest, [systemId, endpointId, limit]);
}

const unfinished = statement(
  "replays.unfinished",
  `select distinct on (replay.endpoint_id) replay.id, replay.endpoint_id
   from webhook_replays replay
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = replay.endpoint_id
   where replay.system_id = $1 and ${IS_UNFINISHED} and endpoint.status = 'active'
   order by replay.endpoint_id, replay.id`,
);

/** Lists the first unfinished replay of each active endpoint. */
export function listUnfinishedReplays(
  db: Queryable,
  systemId: string,
): Promise<{ readonly id: string; readonly endpoint_id: string }[]> {
  return db.query<{ id: string; endpoint_id: string }>(unfinished, [systemId]);
}

const lock = statement(
  "replays.lock",
  `select id, endpoint_id, since, until, next_held_at from webhook_replays
   where system_id = $1 and id = $2 and ${IS_UNFINISHED}
   for update skip locked`,
);

/**
 * An unfinished replay that the transaction has locked. `next_held_at` null: the replay sends the items that were recorded
 * for it, which were created from `since` to `until`. Otherwise it sends deliveries that were held from `since` to `until`.
 */
export type LockedReplay = Pick<Tables["webhook_replays"], "id" | "endpoint_id" | "since" | "until" | "next_held_at">;

/** Locks a replay until the transaction ends. @returns undefined: another process has it, or it is finished */
export async function lockReplay(tx: Transaction, systemId: string, id: string): Promise<LockedReplay | undefined> {
  return (await tx.query<LockedReplay>(lock, [systemId, id]))[0];
}

const waiting = statement(
  "replays.waiting",
  `select count(*) as n from (
     select from webhook_queue where system_id = $1 and endpoint_id = $2 and replay limit $3) as first`,
);

/** Counts the queued deliveries of an endpoint's replays, up to `most`. */
export async function countQueuedReplays(
  db: Queryable,
  systemId: string,
  endpointId: string,
  most: number,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(waiting, [systemId, endpointId, most])).n;
}

const finish = statement(
  "replays.finish",
  `update webhook_replays set finished_at = $3
   where system_id = $1 and id = $2 and finished_at is null
     and not exists (select from webhook_replay_items where system_id = $1 and replay_id = $2)
   returning id`,
);

/**
 * Finishes a replay that has no items left.
 * @returns whether this call finished it
 */
export async function updateReplayFinished(tx: Transaction, systemId: string, id: string, now: Date): Promise<boolean> {
  return (await tx.query(finish, [systemId, id, now])).length > 0;
}

const stop = statement(
  "replays.stop",
  `update webhook_replays set finished_at = $4, is_stopped = true, next_held_at = null
   where system_id = $1 and ${IS_UNFINISHED} and (endpoint_id = $2 or id = $3)
   returning ${columns}`,
);
const deleteItems = statement(
  "replays.deleteItems",
  `delete from webhook_replay_items where system_id = $1 and replay_id = any($2::text[])`,
);
const find = statement("replays.find", `select ${columns} from webhook_replays where system_id = $1 and id = $2`);

/** Returns a replay, also a finished one; undefined: there is none with this id. */
export async function findReplay(db: Queryable, systemId: string, id: string): Promise<ReplayRow | undefined> {
  return (await db.query<ReplayRow>(find, [systemId, id]))[0];
}

/**
 * Stops one replay, or all replays of an endpoint. The deliveries that they have not queued stay as they are.
 * @returns the replays that were running
 */
export async function updateReplaysStopped(
  tx: Transaction,
  systemId: string,
  which: { readonly endpointId: string } | { readonly id: string },
  now: Date,
): Promise<ReplayRow[]> {
  const values = "id" in which ? [null, which.id] : [which.endpointId, null];
  // Stops the replay before its items are deleted: a worker that queues a batch holds the replay's lock, so this waits for
  // it.
  const stopped = await tx.query<ReplayRow>(stop, [systemId, ...values, now]);
  if (stopped.length > 0) await tx.query(deleteItems, [systemId, stopped.map(({ id }) => id)]);
  return stopped;
}

/** One of a replay's next deliveries, whose row is locked, and what to do with it. */
interface BatchRow extends Pick<Tables["webhook_replay_items"], "created_on" | "delivery_id"> {
  /**
   * `again`: it is queued with a fresh schedule. `hasten`: it is queued already, and its next attempt becomes due now.
   * `queued`: it is queued already, and stays as it is. `skipped`: it has succeeded since it was chosen. `gone`: its
   * body is no longer kept.
   */
  readonly step: "again" | "hasten" | "queued" | "skipped" | "gone";
}

/*
 * Locks the next deliveries of a replay's items. `chosen_at` is null unless a person chose the deliveries (`is_choice`).
 * A delivery that another transaction is writing stays for the next batch: waiting for it could end in a deadlock. A
 * delivery that is queued already counts as queued. If a person chose it and it waits for its next attempt, the attempt
 * becomes due now.
 */
const lockBatch = statement(
  "replayBatch.lock",
  `with batch as materialized (
     select item.system_id, item.created_on, item.delivery_id, replay.chosen_at
     from (
       select case when is_choice then created_at end as chosen_at
       from webhook_replays where system_id = $1 and id = $2 limit 1) as replay
     cross join lateral (
       select system_id, replay_id, created_on, delivery_id from webhook_replay_items
       where system_id = $1 and replay_id = $2
       order by created_on, delivery_id
       limit $3) as item),
   kept as materialized (
     select batch.* from batch join webhook_deliveries delivery on ${matchesDelivery("batch")}
     where exists (select from webhook_bodies body
       where ${indexedMatch("body", "delivery", { system_id: "system_id", created_on: "created_on", event_id: "event_id" })})),
   free as materialized (
     select delivery.created_on, delivery.id as delivery_id,
       case when delivery.status = 'succeeded' and delivery.finished_at >= kept.chosen_at then 'skipped'
         when delivery.status <> 'pending' then 'again'
         when kept.chosen_at is not null then 'hasten' else 'queued' end as step
     from kept join webhook_deliveries delivery on ${matchesDelivery("kept")}
     for update of delivery skip locked)
   select created_on, delivery_id, step from free
   union all
   select created_on, delivery_id, 'gone' from batch where delivery_id not in (select delivery_id from kept)`,
);
// Passes the keys as lists, so that each is looked up in the primary key. In a join, PostgreSQL could take the table for
// small and compare each key with each of its rows.
const queue = statement(
  "replayBatch.queue",
  `with back as (
     update webhook_deliveries delivery set ${PENDING_AGAIN}
     where delivery.system_id = $1 and delivery.created_on = any($3::date[]) and delivery.id = any($4::text[])
     returning delivery.id as delivery_id, delivery.endpoint_id, delivery.created_on, delivery.event_id, delivery.attempts)
   ${insertIntoQueue("back", { dueAt: "$2", attempts: "attempts", replay: true })}
   ${UNLESS_QUEUED}`,
);
// `any(array[…])` instead of `=`: see `indexedMatch`.
const hasten = statement(
  "replayBatch.hasten",
  `update webhook_queue waiting set due_at = $2
   from unnest($3::text[]) as chosen (delivery_id)
   where waiting.system_id = $1 and waiting.delivery_id = any(array[chosen.delivery_id])
     and waiting.claim is null and waiting.due_at > $2`,
);
const deleteBatchItems = statement(
  "replayBatch.deleteItems",
  `delete from webhook_replay_items
   where system_id = $1 and replay_id = $2 and created_on = any($3::date[]) and delivery_id = any($4::text[])`,
);
const countBatch = statement(
  "replayBatch.count",
  `update webhook_replays set queued = queued + $3::int, skipped = skipped + $4::int where system_id = $1 and id = $2`,
);

/** Queues the next items of a replay. @returns how many, including those that were queued already */
export async function insertReplayBatch(
  tx: Transaction,
  systemId: string,
  id: string,
  now: Date,
  limit: number,
): Promise<number> {
  const batch = await tx.query<BatchRow>(lockBatch, [systemId, id, limit]);
  const those = (...steps: readonly BatchRow["step"][]) => batch.filter(({ step }) => steps.includes(step));
  const idsOf = (rows: readonly BatchRow[]) => rows.map(({ delivery_id: delivery }) => delivery);
  const daysOf = (rows: readonly BatchRow[]) => [...new Set(rows.map(({ created_on: day }) => day))];
  const again = those("again");
  const hastened = those("hasten");
  const queued = those("again", "hasten", "queued").length;
  if (again.length > 0) tx.send(queue, [systemId, now, daysOf(again), idsOf(again)]);
  if (hastened.length > 0) tx.send(hasten, [systemId, now, idsOf(hastened)]);
  if (batch.length > 0) tx.send(deleteBatchItems, [systemId, id, daysOf(batch), idsOf(batch)]);
  tx.send(countBatch, [systemId, id, queued, those("skipped").length]);
  return queued;
}

/*
 * Finds the oldest held deliveries, and locks those that no other transaction is writing. The lock checks `status` rather
 * than `problem`, because `matchesDelivery` allows no other indexed column.
 */
const lockHeld = statement(
  "replayBatch.lockHeld",
  `with oldest as materialized (
     select delivery.system_id, delivery.created_on, delivery.id as delivery_id, delivery.created_at
     from webhook_deliveries delivery
     where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.problem = 'held'
       and delivery.created_on between $3::timestamptz::date and $5::timestamptz::date
       and delivery.created_at >= $3 and delivery.created_at <= $5
       and coalesce(delivery.finished_at, delivery.created_at) between $4 and $5
       and exists (select from webhook_bodies body where body.system_id = $1
         and body.created_on = delivery.created_on and body.event_id = delivery.event_id)
     order by delivery.created_at, delivery.id
     limit $6),
   free as materialized (
     select delivery.id from oldest join webhook_deliveries delivery on ${matchesDelivery("oldest")}
     where delivery.status = 'held'
     for update of delivery skip locked)
   select created_on, delivery_id, created_at, delivery_id in (select id from free) as is_free from oldest
   order by created_at, delivery_id`,
);
// `$4` null: the replay is finished. `total` was counted before the replay began, so more deliveries may be queued.
const countHeldQueued = statement(
  "replayBatch.countHeldQueued",
  `update webhook_replays
   set queued = queued + $3::int, total = greatest(total, queued + $3::int), next_held_at = $4,
     finished_at = case when $4::timestamptz is null then $5::timestamptz end
   where system_id = $1 and id = $2`,
);

/** One of the oldest held deliveries of a replay. */
interface HeldRow extends Pick<Tables["webhook_deliveries"], "created_on" | "created_at"> {
  readonly delivery_id: string;
  /** False: another transaction was writing it, or has written it by now. */
  readonly is_free: boolean;
}

/**
 * Queues the oldest deliveries of a replay of held deliveries, and finishes the replay when none is left. The next batch
 * begins at the first delivery that could not be locked, so that none is left out.
 * @returns how many
 */
export async function insertHeldBatch(
  tx: Transaction,
  systemId: string,
  { id, endpoint_id: endpointId, since, until, next_held_at: next }: LockedReplay & { readonly next_held_at: Date },
  now: Date,
  limit: number,
): Promise<number> {
  const oldest = await tx.query<HeldRow>(lockHeld, [systemId, endpointId, next, since, until, limit]);
  const free = oldest.filter(({ is_free: isFree }) => isFree);
  const days = [...new Set(free.map(({ created_on: day }) => day))];
  const ids = free.map(({ delivery_id: delivery }) => delivery);
  if (ids.length > 0) tx.send(queue, [systemId, now, days, ids]);
  const isLast = oldest.length < limit && free.length === oldest.length;
  const firstOfNext = oldest.find(({ is_free: isFree }) => !isFree) ?? oldest.at(-1);
  const goesOnAt = firstOfNext?.created_at ?? next;
  tx.send(countHeldQueued, [systemId, id, free.length, isLast ? null : goesOnAt, now]);
  return free.length;
}
