import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED, IS_TAKING_HELD } from "./sql-fragments.ts";

/*
 * Statements about held deliveries: those that wait because their endpoint was paused, until somebody sends or drops
 * them. A replay sends them.
 */

/** The deliveries of an endpoint that were held at `until` or earlier, and still are. */
export interface HeldRange {
  readonly systemId: string;
  readonly endpointId: string;
  readonly until: Date;
}

/** SQL for the instant at which a delivery was held: its creation, or its removal from the queue. */
const HELD_AT = "coalesce(delivery.finished_at, delivery.created_at)";

/** SQL for the instant up to which a running replay sends held deliveries; null: no such replay is running. */
const replayedUntil = `(select max(until) from webhook_replays
    where system_id = $1 and endpoint_id = $2 and ${IS_TAKING_HELD})`;

/*
 * Held deliveries, without those that a running replay sends. An endpoint has few running replays, and a delivery is looked
 * up in each by the primary key of `webhook_replay_items`.
 */
const heldWithoutReplay = `from webhook_deliveries delivery
  where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.problem = 'held'
    and ${HELD_AT} <= $3 and ${HELD_AT} > coalesce(${replayedUntil}, '-infinity')
    and not exists (
      select from webhook_replays replay
      join webhook_replay_items item on item.system_id = $1 and item.replay_id = replay.id
      where replay.system_id = $1 and replay.endpoint_id = $2 and replay.finished_at is null
        and item.created_on = delivery.created_on and item.delivery_id = delivery.id)`;

// A separate statement without writes, because PostgreSQL parallelizes only such statements.
const count = statement(
  "held.count",
  `select count(*) as total, min(delivery.created_at) as oldest ${heldWithoutReplay}`,
);

/** Held deliveries that no unfinished replay sends. */
interface CountedHeld {
  readonly total: number;
  /** When the oldest of these deliveries was created; null: there is none. */
  readonly oldest: Date | null;
}

/** Counts held deliveries, without those that a running replay sends. */
export async function countHeld(db: Queryable, { systemId, endpointId, until }: HeldRange): Promise<CountedHeld> {
  return oneRow(await db.query<CountedHeld>(count, [systemId, endpointId, until]));
}

// `since` and `until` limit the instants at which the deliveries were held: a running replay sends those that were held
// earlier. `next_held_at` begins at the creation of the oldest delivery. `is_choice`: a person chose to send these
// deliveries, and sees the replay's progress.
const insertReplay = statement(
  "held.insertReplay",
  `insert into webhook_replays (system_id, id, endpoint_id, since, until, total, is_choice, next_held_at, created_at)
   select $1, $4, $2, coalesce(${replayedUntil} + interval '1 millisecond', $7::timestamptz), $3, $6::bigint, true,
     $7::timestamptz, $5::timestamptz`,
);

/** Creates a replay of the held deliveries of a locked endpoint, which were counted before. */
export async function insertHeldReplay(
  tx: Transaction,
  { systemId, endpointId, until }: HeldRange,
  made: { readonly id: string; readonly now: Date; readonly total: number; readonly oldest: Date },
): Promise<void> {
  const { id, now, total, oldest } = made;
  await tx.query(insertReplay, [systemId, endpointId, until, id, now, total, oldest]);
}

// A delivery that somebody resends meanwhile is locked. After the wait it is no longer held, so it is not dropped. A
// delivery that had succeeded, and was held when it was sent again, becomes `succeeded` instead of `failed`.
// HAS_ARRIVED is null while there is no response, which `case when` takes for false, but `not` does not.
const HAS_ARRIVED = "delivery.latest_code between 200 and 299 and delivery.latest_failure is null";
const drop = statement(
  "held.drop",
  `with oldest as materialized (
     select delivery.created_on, delivery.id ${heldWithoutReplay}
     order by delivery.created_at, delivery.id
     limit $5
     for update of delivery)
   update webhook_deliveries delivery set finished_at = $4,
     status = case when ${HAS_ARRIVED} then 'succeeded' else 'failed' end,
     latest_failure = case when not coalesce(${HAS_ARRIVED}, false) then '${DROPPED}' end
   from oldest
   where delivery.system_id = $1 and delivery.created_on = oldest.created_on and delivery.id = oldest.id
   returning delivery.id`,
);

/** Drops the oldest held deliveries, without those that a running replay sends, at most `limit`. @returns how many */
export async function updateHeldDropped(
  tx: Transaction,
  { systemId, endpointId, until }: HeldRange,
  now: Date,
  limit: number,
): Promise<number> {
  return (await tx.query(drop, [systemId, endpointId, until, now, limit])).length;
}
