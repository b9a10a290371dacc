import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED, IS_TAKING_HELD } from "./sql-fragments.ts";

/** Which of an endpoint's held deliveries: those held at `until` or before. */
export interface HeldRange {
  readonly systemId: string;
  readonly endpointId: string;
  readonly until: Date;
}

/** SQL for when a delivery was held: as it was created, or as it was taken out of the queue. */
const HELD_AT = "coalesce(delivery.finished_at, delivery.created_at)";

/** SQL for the end of what unfinished replays of held deliveries send; null: there is none. */
const decidedUntil = `(select max(until) from webhook_replays
    where system_id = $1 and endpoint_id = $2 and ${IS_TAKING_HELD})`;

/*
 * A delivery that an unfinished replay sends is left out: somebody has decided already. An endpoint has few unfinished
 * replays, and each is asked by its primary key.
 */
const undecided = `from webhook_deliveries delivery
  where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.problem = 'held'
    and ${HELD_AT} <= $3 and ${HELD_AT} > coalesce(${decidedUntil}, '-infinity')
    and not exists (
      select from webhook_replays replay
      join webhook_replay_items item on item.system_id = $1 and item.replay_id = replay.id
      where replay.system_id = $1 and replay.endpoint_id = $2 and replay.finished_at is null
        and item.created_on = delivery.created_on and item.delivery_id = delivery.id)`;

// Alone in a statement that writes nothing, because PostgreSQL counts with several processes only there.
const count = statement("held.count", `select count(*) as total, min(delivery.created_at) as oldest ${undecided}`);

/** Held deliveries that no unfinished replay sends. */
export interface CountedHeld {
  readonly total: number;
  /** When the first of them was created; null: there is none. */
  readonly oldest: Date | null;
}

/** Counts what is held, without what an unfinished replay sends. */
export async function countHeld(db: Queryable, { systemId, endpointId, until }: HeldRange): Promise<CountedHeld> {
  return oneRow(await db.query<CountedHeld>(count, [systemId, endpointId, until]));
}

// A choice: somebody has pressed a button, and is shown how far it is.
const insertReplay = statement(
  "held.insertReplay",
  `insert into webhook_replays (system_id, id, endpoint_id, since, until, total, is_choice, next_held_at, created_at)
   select $1, $4, $2, coalesce(${decidedUntil} + interval '1 millisecond', $7::timestamptz), $3, $6::bigint, true,
     $7::timestamptz, $5::timestamptz`,
);

/** Makes a replay of what is held at an endpoint that is locked, and was counted since. */
export async function insertHeldReplay(
  tx: Transaction,
  { systemId, endpointId, until }: HeldRange,
  made: { readonly id: string; readonly now: Date; readonly total: number; readonly oldest: Date },
): Promise<void> {
  const { id, now, total, oldest } = made;
  await tx.query(insertReplay, [systemId, endpointId, until, id, now, total, oldest]);
}

// A delivery that somebody sends by hand meanwhile is waited for, and then is held no more. One that had arrived, and was
// held as it was sent again, has arrived still.
const HAS_ARRIVED = "delivery.latest_code between 200 and 299 and delivery.latest_failure is null";
const drop = statement(
  "held.drop",
  `with oldest as materialized (
     select delivery.created_on, delivery.id ${undecided}
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

/** Gives up the oldest held deliveries, `limit` at most. @returns how many */
export async function updateHeldDropped(
  tx: Transaction,
  { systemId, endpointId, until }: HeldRange,
  now: Date,
  limit: number,
): Promise<number> {
  return (await tx.query(drop, [systemId, endpointId, until, now, limit])).length;
}
