import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { DROPPED } from "./sql-fragments.ts";

/** Which of an endpoint's held deliveries: those held at `until` or before. */
export interface HeldRange {
  readonly systemId: string;
  readonly endpointId: string;
  readonly until: Date;
}

/*
 * A delivery that an unfinished replay has chosen is left out: somebody has decided already that it is sent. An endpoint has
 * few unfinished replays, and each is asked by its primary key.
 */
const undecided = `from webhook_deliveries delivery
  where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.problem = 'held'
    and coalesce(delivery.finished_at, delivery.created_at) <= $3
    and not exists (
      select from webhook_replays replay
      join webhook_replay_items item on item.system_id = $1 and item.replay_id = replay.id
      where replay.system_id = $1 and replay.endpoint_id = $2 and replay.finished_at is null
        and item.created_on = delivery.created_on and item.delivery_id = delivery.id)`;

const count = statement("held.count", `select count(*) as total ${undecided}`);

/** How many deliveries are held, without those that an unfinished replay sends. */
export async function countHeld(db: Queryable, { systemId, endpointId, until }: HeldRange): Promise<number> {
  return oneRow(await db.query<{ total: number }>(count, [systemId, endpointId, until])).total;
}

// A choice: what has succeeded before its turn, because somebody has sent it by hand, is not sent a second time.
const insertReplay = statement(
  "held.insertReplay",
  `with items as (
     insert into webhook_replay_items (system_id, replay_id, created_on, delivery_id)
     select $1, $4, delivery.created_on, delivery.id ${undecided}
     returning created_on)
   insert into webhook_replays (system_id, id, endpoint_id, since, until, total, is_choice, created_at)
   select $1, $4, $2, min(created_on), $3, count(*), true, $5 from items having count(*) > 0
   returning total`,
);

/** Makes a replay of what is held. @returns how many deliveries it sends; 0: none is made */
export async function insertHeldReplay(
  tx: Transaction,
  { systemId, endpointId, until }: HeldRange,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<number> {
  return (await tx.query<{ total: number }>(insertReplay, [systemId, endpointId, until, id, now]))[0]?.total ?? 0;
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
