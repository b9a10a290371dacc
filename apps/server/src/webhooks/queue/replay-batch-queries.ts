import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { indexedMatch, insertIntoQueue, matchesDelivery, PENDING_AGAIN, UNLESS_QUEUED } from "./sql-fragments.ts";

/** The next deliveries of a replay, whose rows are locked, and what is to be done with each. */
interface BatchRow extends Pick<Tables["webhook_replay_items"], "created_on" | "delivery_id"> {
  /**
   * `again`: it is queued with a fresh schedule. `hasten`: it waits for its next attempt, which is due now. `queued`: it
   * waits already. `skipped`: it has succeeded since it was chosen. `gone`: its body is no longer kept.
   */
  readonly step: "again" | "hasten" | "queued" | "skipped" | "gone";
}

/*
 * A delivery that another transaction is writing stays for the next batch: waiting for it could end in a deadlock. One that
 * is queued already counts as queued; where it was chosen in the dashboard and waits for its next attempt, that is due now.
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
// By lists, of which each row's key is looked up in the primary key. Joined to a table that PostgreSQL takes for small, they
// were compared with each of its rows.
const queue = statement(
  "replayBatch.queue",
  `with back as (
     update webhook_deliveries delivery set ${PENDING_AGAIN}
     where delivery.system_id = $1 and delivery.created_on = any($3::date[]) and delivery.id = any($4::text[])
     returning delivery.id as delivery_id, delivery.endpoint_id, delivery.created_on, delivery.event_id, delivery.attempts)
   ${insertIntoQueue("back", { dueAt: "$2", attempts: "attempts", replay: true })}
   ${UNLESS_QUEUED}`,
);
const hasten = statement(
  "replayBatch.hasten",
  `update webhook_queue waiting set due_at = $2
   from unnest($3::text[]) as chosen (delivery_id)
   where waiting.system_id = $1 and waiting.delivery_id = any(array[chosen.delivery_id])
     and waiting.claim is null and waiting.due_at > $2`,
);
const deleteItems = statement(
  "replayBatch.deleteItems",
  `delete from webhook_replay_items
   where system_id = $1 and replay_id = $2 and created_on = any($3::date[]) and delivery_id = any($4::text[])`,
);
const count = statement(
  "replayBatch.count",
  `update webhook_replays set queued = queued + $3::int, skipped = skipped + $4::int where system_id = $1 and id = $2`,
);

/** Queues the next deliveries of a replay. @returns how many */
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
  if (batch.length > 0) tx.send(deleteItems, [systemId, id, daysOf(batch), idsOf(batch)]);
  tx.send(count, [systemId, id, queued, those("skipped").length]);
  return queued;
}
