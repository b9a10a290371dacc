/** Name, meaning and query of each invariant of webhooks. */
export const webhookInvariants: readonly (readonly [name: string, meaning: string, broken: string])[] = [
  [
    "deliveries_queued",
    "a delivery is pending exactly while it is in the queue, with as many attempts as are counted there",
    `select coalesce(delivery.id, due.delivery_id)
     from (select * from webhook_deliveries where system_id = $1 and status = 'pending') as delivery
     full join (select * from webhook_queue where system_id = $1) as due
       on due.delivery_id = delivery.id and due.created_on = delivery.created_on and due.endpoint_id = delivery.endpoint_id
         and due.attempts = delivery.attempts
     where delivery.id is null or due.delivery_id is null`,
  ],
  [
    "delivery_bodies",
    "a queued delivery has the event that it is about",
    `select due.delivery_id from webhook_queue due
     where due.system_id = $1 and not exists (select from webhook_bodies body
       where body.system_id = $1 and body.created_on = due.created_on and body.event_id = due.event_id)`,
  ],
  [
    "delivery_attempts",
    "a delivery that succeeded has as its last attempt one that succeeded, and no other delivery has",
    `select delivery.id from webhook_deliveries delivery
     join webhook_attempts last on last.system_id = $1 and last.delivery_id = delivery.id
       and last.number = delivery.attempts and last.started_on >= delivery.created_on
     where delivery.system_id = $1 and delivery.status in ('succeeded', 'failed')
       and (delivery.status = 'succeeded') <> (last.outcome = 'succeeded')`,
  ],
];
