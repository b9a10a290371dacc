import type { Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";

const take = statement(
  "probe.take",
  `with oldest as materialized (
     select delivery.created_on, delivery.id from webhook_deliveries delivery
     where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.stuck and delivery.status = 'held'
       and exists (select from webhook_bodies body where body.system_id = $1
         and body.created_on = delivery.created_on and body.event_id = delivery.event_id)
     order by delivery.created_on, delivery.id
     limit 1
     for update of delivery),
   back as (
     update webhook_deliveries delivery set status = 'pending', stuck = false, finished_at = null
     from oldest
     where delivery.system_id = $1 and delivery.created_on = oldest.created_on and delivery.id = oldest.id
     returning delivery.created_on, delivery.id, delivery.event_id, delivery.attempts)
   insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, attempts)
   select $1, id, $2, created_on, event_id, $3, attempts from back
   on conflict (system_id, delivery_id) do nothing
   returning delivery_id`,
);

/** Puts an endpoint's oldest held delivery back in line, due now. @returns its id; undefined: none is held */
export async function takeProbe(
  tx: Transaction,
  systemId: string,
  endpointId: string,
  now: Date,
): Promise<string | undefined> {
  return (await tx.query<{ delivery_id: string }>(take, [systemId, endpointId, now]))[0]?.delivery_id;
}
