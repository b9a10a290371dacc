import type { Queryable } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import { bigints, integers, texts, timestamps } from "./binary-array.ts";
import { isDeliveryOf } from "./looked-up.ts";

/** How many deliveries a lane can take up. */
export interface ClaimRequest {
  readonly endpointId: string;
  /** The holder's token: a lane that has passed to another holder gives nothing. */
  readonly token: number;
  readonly limit: number;
  /** Rows due earlier than this are skipped: they are known to be gone, and stepping over the dead ones costs. */
  readonly after: Date;
}

/** A delivery that is ours to send. */
export interface ClaimedRow {
  readonly endpoint_id: string;
  readonly delivery_id: string;
  readonly created_on: string;
  readonly event_id: string;
  readonly attempts: number;
  readonly tries: number;
  readonly due_at: Date;
  readonly replay: boolean;
  /** The holder's token under which it was claimed. */
  readonly claim: number;
  readonly event: string;
  readonly occurred_at: Date;
  readonly data: string;
}

/*
 * The lane's row, share-locked, holds off whoever would take the lane over until the claim is committed: what an
 * earlier holder claims is either seen by the next one, or not claimed. Only lanes that have something due are locked,
 * because a lock is written to disk.
 *
 * Each step looks rows up for one row of the step before, and the update goes by their places: there is no join whose
 * order a plan made for an empty queue could turn round, to compare everything with everything once it is long.
 */
const claim = statement(
  "due.claim",
  `with picked as materialized (
     select lane.token, next.place
     from unnest($2::text[], $3::bigint[], $4::int[], $5::timestamptz[]) as wanted (endpoint_id, token, n, after)
     cross join lateral (
       select due.endpoint_id from webhook_queue due
       where due.system_id = $1 and due.endpoint_id = wanted.endpoint_id and due.replay = $6
         and due.due_at >= wanted.after and due.due_at <= $7 and due.claim is null
       order by due.due_at, due.delivery_id
       limit 1) as busy
     cross join lateral (
       select lane.endpoint_id, lane.token from webhook_lanes lane
       where lane.system_id = $1 and lane.endpoint_id = busy.endpoint_id and lane.token = wanted.token
       for share) as lane
     cross join lateral (
       select due.ctid as place from webhook_queue due
       where due.system_id = $1 and due.endpoint_id = lane.endpoint_id and due.replay = $6
         and due.due_at >= wanted.after and due.due_at <= $7 and due.claim is null
       order by due.due_at, due.delivery_id
       limit wanted.n
       for update skip locked) as next),
   claimed as (
     update webhook_queue due set claim = picked.token, claimed_at = $7
     from picked
     where due.ctid = picked.place
     returning due.endpoint_id, due.delivery_id, due.created_on, due.event_id, due.attempts, due.tries, due.due_at,
       due.replay, due.claim)
   select claimed.*, body.event, body.occurred_at, body.data
   from claimed cross join lateral (
     select event, occurred_at, data from webhook_bodies
     where system_id = $1 and created_on = claimed.created_on and event_id = claimed.event_id
     limit 1) as body
   order by claimed.due_at, claimed.delivery_id`,
);

/** Claims what is due, for each lane as much as it asks for. */
export function claimDue(
  db: Queryable,
  systemId: string,
  requests: readonly ClaimRequest[],
  replay: boolean,
  now: Date,
): Promise<ClaimedRow[]> {
  return db.query<ClaimedRow>(claim, [
    systemId,
    texts.encode(requests.map(({ endpointId }) => endpointId)),
    bigints.encode(requests.map(({ token }) => token)),
    integers.encode(requests.map(({ limit }) => limit)),
    timestamps.encode(requests.map(({ after }) => after)),
    replay,
    now,
  ]);
}

/** The order of the index that gives an endpoint's rows without the others'. */
const inLineOrder = "order by due.replay, due.due_at, due.delivery_id";

const release = statement(
  "due.release",
  `with mine as materialized (
     select due.ctid as place from webhook_queue due
     where due.system_id = $1 and due.endpoint_id = $2 and due.claim = $3 and due.delivery_id <> all($4::text[])
     ${inLineOrder}
     for update)
   update webhook_queue due set claim = null, claimed_at = null from mine where due.ctid = mine.place`,
);

/** Gives back what was claimed under a lane's token, all but the `known`. Not to be called while a claim is under way. */
export async function releaseAllBut(
  db: Queryable,
  systemId: string,
  lane: Pick<ClaimRequest, "endpointId" | "token">,
  known: readonly string[],
): Promise<void> {
  await db.query(release, [systemId, lane.endpointId, lane.token, known]);
}

/** A delivery that an earlier holder of its lane had claimed. */
export interface OrphanRow {
  readonly endpoint_id: string;
  readonly delivery_id: string;
  readonly created_on: string;
  readonly attempts: number;
  readonly tries: number;
  readonly due_at: Date;
  readonly replay: boolean;
  readonly claim: number;
  readonly claimed_at: Date;
}

const orphans = statement(
  "due.orphans",
  `select due.endpoint_id, due.delivery_id, due.created_on, due.attempts, due.tries, due.due_at, due.replay, due.claim,
     due.claimed_at
   from webhook_queue due
   where due.system_id = $1 and due.endpoint_id = $2 and due.claim is not null
     and due.claim <> (select token from webhook_lanes where system_id = $1 and endpoint_id = $2)
   ${inLineOrder}
   limit $3`,
);

/** An endpoint's deliveries that were claimed under another token than its lane's present one, `limit` at most. */
export function findOrphans(db: Queryable, systemId: string, endpointId: string, limit: number): Promise<OrphanRow[]> {
  return db.query<OrphanRow>(orphans, [systemId, endpointId, limit]);
}

const hold = statement(
  "due.hold",
  `with paused as materialized (
     select id from webhook_endpoints where system_id = $1 and id = $2 and status = 'paused' for share),
   waiting as materialized (
     select line.place from paused cross join lateral (
       select due.ctid as place from webhook_queue due
       where due.system_id = $1 and due.endpoint_id = paused.id and due.claim is null
       ${inLineOrder}
       limit $4
       for update skip locked) as line),
   taken as (
     delete from webhook_queue due using waiting where due.ctid = waiting.place
     returning due.system_id, due.created_on, due.endpoint_id, due.delivery_id)
   update webhook_deliveries delivery set status = 'held', stuck = true, finished_at = $3
   from taken where ${isDeliveryOf("taken")}
   returning delivery.id`,
);

/** Takes what is due at a paused endpoint out of the line, `limit` at most. @returns how many */
export async function holdDue(
  db: Queryable,
  systemId: string,
  endpointId: string,
  now: Date,
  limit: number,
): Promise<number> {
  return (await db.query(hold, [systemId, endpointId, now, limit])).length;
}
