import { finished } from "node:stream/promises";
import { columnsOf, columnsOfTable, type RowOf, type WrittenRow } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { bigints, booleans, dates, integers, rowEncoder, smallints, texts, timestamps } from "./binary-format.ts";
import { indexedMatch, isOfSystem, matchesDelivery, QUEUE_ORDER } from "./sql-fragments.ts";

/*
 * Statements of the dispatcher: workers and their leases of lanes, claims of due deliveries, and results of attempts. A
 * lane has the deliveries of one endpoint, which one worker at a time sends. Each new lease increases the lane's token.
 * A claim writes the token into the queue's rows. The writes of results compare the row's token, and those of health the
 * lane's, so that a worker that has lost the lane overwrites nothing that a later holder wrote. A queue has regular
 * deliveries and replays, which are sent again on request (`replay`). `is_uncounted`: the delivery's endpoint had an hourly
 * limit when the event happened, and the limit has not let the delivery through yet.
 */

/** A lane with its holder's token. */
interface LaneToken {
  readonly endpointId: string;
  readonly token: number;
}

/**
 * Sorts lanes by their endpoints' ids. Every transaction that waits for locks of several lanes takes them in this order, so
 * that no two of them deadlock.
 */
export function inLockOrder<Of extends { readonly endpointId: string }>(lanes: readonly Of[]): Of[] {
  return lanes.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
}

const healthColumns = columnsOfTable("webhook_lanes").only(
  "failing_since",
  "last_failed_at",
  "failures",
  "failed_deliveries",
  "gone_answers",
  "gone_since",
  "warned",
);
/** The columns that store an endpoint's health. */
export type HealthRow = RowOf<typeof healthColumns>;

/** A lane that the worker has just leased, with the health of its endpoint. */
interface LaneRow extends HealthRow {
  readonly endpoint_id: string;
  readonly token: number;
}

const heartbeat = statement(
  "lane.heartbeat",
  `insert into webhook_workers (system_id, worker, alive_until)
   values ($1, $2, now() + $3::bigint * interval '1 ms')
   on conflict (system_id, worker) do update set alive_until = excluded.alive_until`,
);
const membership = statement(
  "lane.membership",
  `select count(*) filter (where alive_until > now()) as workers,
     count(*) filter (where alive_until > now() and worker < $2) as before,
     count(*) filter (where alive_until < now() - interval '1 hour') as dead,
     (select count(*) from webhook_lanes where system_id = $1) as lanes
   from webhook_workers where system_id = $1`,
);
const deleteOne = statement("lane.deleteWorker", "delete from webhook_workers where system_id = $1 and worker = $2");
const deleteDead = statement(
  "lane.deleteDead",
  "delete from webhook_workers where system_id = $1 and alive_until < now() - interval '1 hour'",
);

/** How many workers are alive, and how many lanes they share. */
export interface Membership {
  readonly workers: number;
  /** Workers whose names sort before the caller's. */
  readonly before: number;
  readonly lanes: number;
}

/** Counts a worker as alive for `aliveMs`, and deletes workers that died long ago. */
export async function updateHeartbeat(
  db: Queryable,
  systemId: string,
  worker: string,
  aliveMs: number,
): Promise<Membership> {
  await db.query(heartbeat, [systemId, worker, aliveMs]);
  const { dead, ...found } = oneRow(
    await db.query<Membership & { readonly dead: number }>(membership, [systemId, worker]),
  );
  if (dead > 0) await db.query(deleteDead, [systemId]);
  return found;
}

const countAlive = statement(
  "lane.countWorkers",
  "select count(*) as n from webhook_workers where system_id = $1 and alive_until > now()",
);

/** Counts the processes that send a system's webhooks now. */
export async function countWorkers(db: Queryable, systemId: string): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countAlive, [systemId])).n;
}

/** Deletes a worker that has ended. */
export async function deleteWorker(db: Queryable, systemId: string, worker: string): Promise<void> {
  await db.query(deleteOne, [systemId, worker]);
}

/** SQL: locks lanes one after the other, in the order of the arrays of their endpoints' ids and tokens. */
const lockHeld = (endpointIds: string, tokens: string) =>
  `select lane.endpoint_id from unnest(${endpointIds}::text[], ${tokens}::bigint[]) as held (endpoint_id, token)
     cross join lateral (
       select endpoint_id from webhook_lanes
       where system_id = $1 and endpoint_id = held.endpoint_id and token = held.token
       for no key update) as lane`;

// `lane.worker = $2`: a lane that this worker has released keeps its token, and must not be leased again.
const renew = statement(
  "lane.renew",
  `with mine as materialized (${lockHeld("$3", "$5")})
   update webhook_lanes lane set leased_until = now() + $4::bigint * interval '1 ms'
   from mine
   where lane.system_id = $1 and lane.endpoint_id = mine.endpoint_id and lane.worker = $2
   returning lane.endpoint_id`,
);

/** Renews the leases of lanes. @returns the lanes that the worker still holds */
export async function updateLeases(
  db: Queryable,
  systemId: string,
  worker: string,
  lanes: readonly LaneToken[],
  leaseMs: number,
): Promise<string[]> {
  const sorted = inLockOrder(lanes);
  const rows = await db.query<{ endpoint_id: string }>(renew, [
    systemId,
    worker,
    sorted.map(({ endpointId }) => endpointId),
    leaseMs,
    sorted.map(({ token }) => token),
  ]);
  return rows.map(({ endpoint_id: id }) => id);
}

/* `worker = $2` finds lanes that this worker leased without knowing, because the response to the lease was lost. */
const leaseLanes = statement(
  "lane.claim",
  `with free as materialized (
     select endpoint_id from webhook_lanes
     where system_id = $1 and (worker is null or leased_until < now() or worker = $2)
       and endpoint_id <> all($3::text[])
     order by endpoint_id
     limit $4
     for update skip locked)
   update webhook_lanes lane
   set worker = $2, token = lane.token + 1, leased_until = now() + $5::bigint * interval '1 ms'
   from free
   where lane.system_id = $1 and lane.endpoint_id = free.endpoint_id
   returning lane.endpoint_id, lane.token, ${healthColumns.list("lane")}`,
);

/**
 * Leases lanes that no other worker leases, `limit` at most, and counts their tokens up.
 * @param leased the endpoints whose lanes the worker has already
 */
export function claimLanes(
  db: Queryable,
  systemId: string,
  worker: string,
  leased: readonly string[],
  limit: number,
  leaseMs: number,
): Promise<LaneRow[]> {
  return db.query<LaneRow>(leaseLanes, [systemId, worker, leased, limit, leaseMs]);
}

const releaseLanes = statement(
  "lane.release",
  `with mine as materialized (${lockHeld("$2", "$3")})
   update webhook_lanes lane set worker = null, leased_until = null
   from mine
   where lane.system_id = $1 and lane.endpoint_id = mine.endpoint_id`,
);

/** Releases lanes, for others to lease at once. */
export async function updateLanesReleased(db: Queryable, systemId: string, lanes: readonly LaneToken[]): Promise<void> {
  const sorted = inLockOrder(lanes);
  await db.query(releaseLanes, [
    systemId,
    sorted.map(({ endpointId }) => endpointId),
    sorted.map(({ token }) => token),
  ]);
}

const writeHealth = statement(
  "lane.writeHealth",
  `update webhook_lanes lane set ${healthColumns.assignments("health")} from ${healthColumns.recordset(4, "health")}
   where lane.system_id = $1 and lane.endpoint_id = $2 and lane.token = $3`,
);

/** Stores an endpoint's health if the worker still holds the lane. */
export async function updateLaneHealth(
  tx: Transaction,
  systemId: string,
  { endpointId, token }: LaneToken,
  health: HealthRow,
): Promise<void> {
  await tx.query(writeHealth, [systemId, endpointId, token, JSON.stringify([health])]);
}

/** A request for due deliveries of a lane. */
export interface ClaimRequest {
  readonly endpointId: string;
  /** The holder's token. A lane with another holder returns nothing. */
  readonly token: number;
  readonly limit: number;
  /**
   * The endpoint has an hourly limit: leaves out deliveries that `applyHourlyLimit` must judge first (`is_uncounted`).
   */
  readonly hasHourlyLimit?: boolean;
  /** Skips rows that were due earlier: nearly all of them are dead, and reading dead rows costs time (`QueueCursor`). */
  readonly dueFrom: Date;
}

type QueueRow = Tables["webhook_queue"];

/** A delivery that this worker must send. `claim`: the holder's token at the claim. */
export interface ClaimedRow
  extends
    Omit<QueueRow, "event_id" | "claim" | "claimed_at" | "crashes" | "is_uncounted">,
    Pick<Tables["webhook_bodies"], "event" | "occurred_at" | "data"> {
  readonly claim: number;
}

const claimedColumns = columnsOfTable("webhook_queue").without("event_id", "claimed_at", "crashes", "is_uncounted");

/*
 * Claims deliveries for several lanes. `which` is a condition on a delivery's crashes. $2 to $5 and $8: the requests of the
 * lanes. $6: whether from the replays. $7: now.
 *
 * Locks the lane's row `for share`, so that no other worker takes the lane over before the claim is committed: the next
 * holder sees every claim of this one. Locks only lanes with due deliveries, because a lock is written to disk.
 *
 * Each step looks up rows for one row of the step before, and the update finds rows by their addresses (ctid). So there is
 * no join whose order PostgreSQL can choose. Otherwise a plan that was made for an empty queue could compare all rows with
 * all others once the queue is long.
 */
const claimOf = (which: string) =>
  `with picked as materialized (
     select lane.token, next.row_address
     from unnest($2::text[], $3::bigint[], $4::int[], $5::timestamptz[], $8::boolean[])
       as wanted (endpoint_id, token, n, due_from, has_limit)
     cross join lateral (
       select queued.endpoint_id from webhook_queue queued
       where queued.system_id = $1 and queued.endpoint_id = wanted.endpoint_id and queued.replay = $6
         and queued.due_at >= wanted.due_from and queued.due_at <= $7 and queued.claim is null and ${which}
         and not (wanted.has_limit and queued.is_uncounted)
       order by queued.due_at, queued.delivery_id
       limit 1) as busy
     cross join lateral (
       select lane.endpoint_id, lane.token from webhook_lanes lane
       where lane.system_id = $1 and lane.endpoint_id = busy.endpoint_id and lane.token = wanted.token
       for share) as lane
     cross join lateral (
       select queued.ctid as row_address from webhook_queue queued
       where queued.system_id = $1 and queued.endpoint_id = lane.endpoint_id and queued.replay = $6
         and queued.due_at >= wanted.due_from and queued.due_at <= $7 and queued.claim is null and ${which}
         and not (wanted.has_limit and queued.is_uncounted)
       order by queued.due_at, queued.delivery_id
       limit wanted.n
       for update skip locked) as next),
   claimed as (
     update webhook_queue queued set claim = picked.token, claimed_at = $7, is_uncounted = false
     from picked
     where ${isOfSystem("queued")} and queued.ctid = picked.row_address
     returning ${claimedColumns.list("queued")}, queued.event_id)
   select ${claimedColumns.list("claimed")}, body.event, body.occurred_at, body.data
   from claimed cross join lateral (
     select event, occurred_at, data from webhook_bodies
     where system_id = $1 and created_on = claimed.created_on and event_id = claimed.event_id
     limit 1) as body
   order by claimed.due_at, claimed.delivery_id`;

const claimDue = statement("claim.deliveries", claimOf("queued.crashes = 0"));
/**
 * SQL: which suspects are tried together, and which alone (SUSPECT_CRASHES of rules/after-attempt.ts). `crashes` counts the
 * processes in a row that ended with the delivery claimed. A suspect is a delivery that has some: it may have ended them.
 */
const howTried = { together: "queued.crashes = 1", alone: "queued.crashes >= 2" } as const;
const claimTogether = statement("claim.together", claimOf(howTried.together));
const claimAlone = statement("claim.alone", claimOf(howTried.alone));

/** Claims due deliveries, for each lane as many as it asks for. Leaves out suspects: see `claimSuspects`. */
export function claimDeliveries(
  db: Queryable,
  systemId: string,
  requests: readonly ClaimRequest[],
  replay: boolean,
  now: Date,
): Promise<ClaimedRow[]> {
  return claimBy(claimDue, db, systemId, requests, replay, now);
}

/** Claims due suspects of one kind, together or alone, for each lane as many as it asks for. */
export function claimSuspects(
  db: Queryable,
  systemId: string,
  requests: readonly ClaimRequest[],
  { tried, replay, now }: { readonly tried: keyof typeof howTried; readonly replay: boolean; readonly now: Date },
): Promise<ClaimedRow[]> {
  return claimBy(tried === "alone" ? claimAlone : claimTogether, db, systemId, requests, replay, now);
}

const suspects = statement(
  "claim.suspects",
  `select queued.endpoint_id, queued.replay, ${howTried.alone} as is_alone from webhook_queue queued
   where queued.system_id = $1 and queued.crashes >= 1 and queued.due_at <= $2 and queued.claim is null
   group by 1, 2, 3`,
);

/** Suspects that are due, by the endpoint and the queue in which they wait, and by how they are tried. */
export interface SuspectLane extends Pick<QueueRow, "endpoint_id" | "replay"> {
  readonly is_alone: boolean;
}

/** Lists all lanes in which suspects are due, also those that other workers lease. */
export function listSuspectLanes(db: Queryable, systemId: string, now: Date): Promise<SuspectLane[]> {
  return db.query<SuspectLane>(suspects, [systemId, now]);
}

function claimBy(
  by: Statement,
  db: Queryable,
  systemId: string,
  requests: readonly ClaimRequest[],
  replay: boolean,
  now: Date,
): Promise<ClaimedRow[]> {
  const sorted = inLockOrder(requests);
  return db.query<ClaimedRow>(by, [
    systemId,
    texts.encode(sorted.map(({ endpointId }) => endpointId)),
    bigints.encode(sorted.map(({ token }) => token)),
    integers.encode(sorted.map(({ limit }) => limit)),
    timestamps.encode(sorted.map(({ dueFrom }) => dueFrom)),
    replay,
    now,
    booleans.encode(sorted.map(({ hasHourlyLimit }) => hasHourlyLimit === true)),
  ]);
}

const releaseClaimed = statement(
  "claim.release",
  `with mine as materialized (
     select queued.ctid as row_address from webhook_queue queued
     where queued.system_id = $1 and queued.endpoint_id = $2 and queued.claim = $3 and queued.delivery_id <> all($4::text[])
     ${QUEUE_ORDER}
     for update)
   update webhook_queue queued set claim = null, claimed_at = null from mine
   where ${isOfSystem("queued")} and queued.ctid = mine.row_address`,
);

/**
 * Releases the deliveries claimed with a lane's token, except `unwritten`. Must not be called during a claim: `unwritten`
 * lacks the deliveries that the claim is about to return.
 */
export async function updateClaimsReleased(
  db: Queryable,
  systemId: string,
  lane: Pick<ClaimRequest, "endpointId" | "token">,
  unwritten: readonly string[],
): Promise<void> {
  await db.query(releaseClaimed, [systemId, lane.endpointId, lane.token, unwritten]);
}

/** A delivery that an earlier holder of its lane claimed without writing a result. */
export interface OrphanRow extends Omit<QueueRow, "event_id" | "claim" | "claimed_at" | "is_uncounted"> {
  readonly claim: number;
  readonly claimed_at: Date;
}

const orphanColumns = columnsOfTable("webhook_queue").without("event_id", "is_uncounted");

const orphans = statement(
  "claim.orphans",
  `select ${orphanColumns.list("queued")}
   from webhook_queue queued
   where queued.system_id = $1 and queued.endpoint_id = $2 and queued.claim is not null
     and queued.claim <> (select token from webhook_lanes where system_id = $1 and endpoint_id = $2)
   ${QUEUE_ORDER}
   limit $3`,
);

/** Lists an endpoint's deliveries that were claimed with an earlier token, at most `limit`. */
export function listOrphans(db: Queryable, systemId: string, endpointId: string, limit: number): Promise<OrphanRow[]> {
  return db.query<OrphanRow>(orphans, [systemId, endpointId, limit]);
}

const lockPaused = statement(
  "claim.lockPaused",
  `select id from webhook_endpoints where system_id = $1 and id = $2 and status = 'paused' for no key update`,
);
const hold = statement(
  "claim.hold",
  `with waiting as materialized (
     select queued.ctid as row_address from webhook_queue queued
     where queued.system_id = $1 and queued.endpoint_id = $2 and queued.claim is null
     ${QUEUE_ORDER}
     limit $4
     for update skip locked),
   taken as (
     delete from webhook_queue queued using waiting
     where ${isOfSystem("queued")} and queued.ctid = waiting.row_address
     returning queued.system_id, queued.created_on, queued.endpoint_id, queued.delivery_id)
   update webhook_deliveries delivery set status = 'held', finished_at = $3
   from taken where ${matchesDelivery("taken")}
   returning delivery.id`,
);

/**
 * Takes a paused endpoint's unclaimed deliveries out of the queue and holds them, `limit` at most. The endpoint's row
 * is locked, so that it is not resumed meanwhile.
 * @returns how many
 */
export function updateQueuedToHeld(
  db: Queryable,
  systemId: string,
  endpointId: string,
  now: Date,
  limit: number,
): Promise<number> {
  return db.transaction(async (tx) => {
    if ((await tx.query(lockPaused, [systemId, endpointId])).length === 0) return 0;
    return (await tx.query(hold, [systemId, endpointId, now, limit])).length;
  });
}

/**
 * The result of an attempt, for the log, for the delivery and for its row in the queue. `due_at`: when the attempt was due.
 * `tries` and `crashes`: the counts after the attempt.
 */
export interface ResultRow
  extends
    WrittenRow<"webhook_attempts">,
    Pick<Tables["webhook_queue"], "created_on" | "replay" | "due_at" | "tries" | "crashes"> {
  /** The token under which it was claimed. */
  readonly claim: number;
  readonly state: "succeeded" | "failed" | "pending";
  /** For the delivery's row: the reason of the failure, and the status code of a complete response. */
  readonly latest_failure: string | null;
  readonly latest_code: number | null;
}

/**
 * A result's changes to the queue and to its delivery, with the keys of its row in the queue. The keys do not change while
 * the delivery is claimed.
 */
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
/** The result's row in the queue, if the same token still claims it for the same attempt. */
const isStillOurs = `${indexedMatch("queued", "result", {
  system_id: "system_id",
  endpoint_id: "endpoint_id",
  replay: "replay",
  due_at: "due_at",
  delivery_id: "delivery_id",
})} and queued.claim = result.claim and queued.attempts = result.number - 1`;

/*
 * A worker writes no result once a later holder of the lane has written it as unknown. A write whose response was lost can
 * be repeated, even if the next attempt has begun.
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

/** Gives up a claimed delivery whose result cannot be stored. @param failure the value for `latest_failure` */
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

/** Stores the results of deliveries that the writer still has claimed. @returns the ids of these deliveries */
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

/** Inserts attempts by `copy`, which takes two thirds of the time of an `insert`, in PostgreSQL and in this process. */
async function insertLog(tx: Transaction, attempts: readonly ResultRow[]): Promise<void> {
  const copying = await tx.copyIn(`copy webhook_attempts (${logColumns.list()}) from stdin (format binary)`);
  copying.end(encodeLog(attempts));
  await finished(copying);
}
