import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { bigints, integers, texts, timestamps } from "./binary-format.ts";
import { isOfSystem, matchesDelivery, QUEUE_ORDER } from "./sql-fragments.ts";

/** How many deliveries a lane can take. */
export interface ClaimRequest {
  readonly endpointId: string;
  /** The holder's token: a lane that has passed to another holder gives nothing. */
  readonly token: number;
  readonly limit: number;
  /** Rows due earlier are skipped: they are known to be gone, and stepping over dead rows costs. */
  readonly dueFrom: Date;
}

type QueueRow = Tables["webhook_queue"];

/** A delivery that this worker has to send. `claim`: the holder's token under which it was claimed. */
export interface ClaimedRow
  extends
    Omit<QueueRow, "event_id" | "claim" | "claimed_at" | "crashes">,
    Pick<Tables["webhook_bodies"], "event" | "occurred_at" | "data"> {
  readonly claim: number;
}

const claimedColumns = columnsOfTable("webhook_queue").without("event_id", "claimed_at", "crashes");

/*
 * The lane's row, share-locked, holds off whoever would take the lane over until the claim is committed: what an
 * earlier holder claims is either seen by the next one, or not claimed. Only lanes that have something due are locked,
 * because a lock is written to disk.
 *
 * Each step looks rows up for one row of the step before, and the update goes by their addresses: there is no join whose
 * order a plan made for an empty queue could turn round, to compare everything with everything once it is long.
 */
const claimOf = (which: string) =>
  `with picked as materialized (
     select lane.token, next.row_address
     from unnest($2::text[], $3::bigint[], $4::int[], $5::timestamptz[]) as wanted (endpoint_id, token, n, due_from)
     cross join lateral (
       select queued.endpoint_id from webhook_queue queued
       where queued.system_id = $1 and queued.endpoint_id = wanted.endpoint_id and queued.replay = $6
         and queued.due_at >= wanted.due_from and queued.due_at <= $7 and queued.claim is null and ${which}
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
       order by queued.due_at, queued.delivery_id
       limit wanted.n
       for update skip locked) as next),
   claimed as (
     update webhook_queue queued set claim = picked.token, claimed_at = $7
     from picked
     where ${isOfSystem("queued")} and queued.ctid = picked.row_address
     returning ${claimedColumns.list("queued")}, queued.event_id)
   select ${claimedColumns.list("claimed")}, body.event, body.occurred_at, body.data
   from claimed cross join lateral (
     select event, occurred_at, data from webhook_bodies
     where system_id = $1 and created_on = claimed.created_on and event_id = claimed.event_id
     limit 1) as body
   order by claimed.due_at, claimed.delivery_id`;

const claim = statement("claim.deliveries", claimOf("queued.crashes = 0"));
/** How suspects are tried, by SUSPECT_CRASHES of rules/retry-policy.ts. */
const howTried = { together: "queued.crashes = 1", alone: "queued.crashes >= 2" } as const;
const claimTogether = statement("claim.together", claimOf(howTried.together));
const claimAlone = statement("claim.alone", claimOf(howTried.alone));

/** Claims due deliveries, for each lane as many as it asks for; not suspects, which may have ended their processes. */
export function claimDeliveries(
  db: Queryable,
  systemId: string,
  requests: readonly ClaimRequest[],
  replay: boolean,
  now: Date,
): Promise<ClaimedRow[]> {
  return claimBy(claim, db, systemId, requests, replay, now);
}

/** Claims suspects, for each lane as many as it asks for. */
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
  return db.query<ClaimedRow>(by, [
    systemId,
    texts.encode(requests.map(({ endpointId }) => endpointId)),
    bigints.encode(requests.map(({ token }) => token)),
    integers.encode(requests.map(({ limit }) => limit)),
    timestamps.encode(requests.map(({ dueFrom }) => dueFrom)),
    replay,
    now,
  ]);
}

const release = statement(
  "claim.release",
  `with mine as materialized (
     select queued.ctid as row_address from webhook_queue queued
     where queued.system_id = $1 and queued.endpoint_id = $2 and queued.claim = $3 and queued.delivery_id <> all($4::text[])
     ${QUEUE_ORDER}
     for update)
   update webhook_queue queued set claim = null, claimed_at = null from mine
   where ${isOfSystem("queued")} and queued.ctid = mine.row_address`,
);

/** Releases what was claimed under a lane's token, except `unwritten`. Not to be called during a claim. */
export async function updateClaimsReleased(
  db: Queryable,
  systemId: string,
  lane: Pick<ClaimRequest, "endpointId" | "token">,
  unwritten: readonly string[],
): Promise<void> {
  await db.query(release, [systemId, lane.endpointId, lane.token, unwritten]);
}

/** A delivery that an earlier holder of its lane had claimed, and wrote no result of. */
export interface OrphanRow extends Omit<QueueRow, "event_id" | "claim" | "claimed_at"> {
  readonly claim: number;
  readonly claimed_at: Date;
}

const orphanColumns = columnsOfTable("webhook_queue").without("event_id");

const orphans = statement(
  "claim.orphans",
  `select ${orphanColumns.list("queued")}
   from webhook_queue queued
   where queued.system_id = $1 and queued.endpoint_id = $2 and queued.claim is not null
     and queued.claim <> (select token from webhook_lanes where system_id = $1 and endpoint_id = $2)
   ${QUEUE_ORDER}
   limit $3`,
);

/** An endpoint's deliveries that were claimed under another token than its lane's present one, `limit` at most. */
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
 * Takes a paused endpoint's deliveries out of the queue and holds them, `limit` at most. The endpoint's row is locked, so
 * that it is not resumed meanwhile.
 * @returns how many
 */
export function updateDueToHeld(
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
