import type { InvariantText } from "./fleet-invariants.ts";

// Events of rides, numbered already or not yet. Their data is the ride's JSON; what was damaged fails no other check.
const rideEvents = `
  select name, data::json ->> 'id' as ride_id from events
  where system_id = $1 and name like 'ride.%' and data like '{%}'
  union all
  select name, data::json ->> 'id' from event_outbox
  where system_id = $1 and name like 'ride.%' and data like '{%}'`;

// Events are dropped after 30 days. From this time on none has been dropped: from the beginning while the first one is there.
const keptFrom = `
  select case when coalesce(min(position), (select last_position + 1 from event_sequences where system_id = $1), 1) = 1
    then '-infinity' else coalesce(min(recorded_on) + 1, 'infinity') end::timestamptz as instant
  from events where system_id = $1`;

export const eventInvariants: readonly InvariantText[] = [
  [
    "placed_system",
    "a system has its row in placed_systems, without which its events, rides and reservations would not be written",
    `select 'the row is missing' where not exists (select from placed_systems where system_id = $1)`,
  ],
  [
    "event_data",
    "an event's data is a JSON object: a page with another one is not JSON",
    `select id from events where system_id = $1 and data not like '{%}'
     union all select id from event_outbox where system_id = $1 and data not like '{%}'`,
  ],
  [
    "ride_events_once",
    "a ride has one ride.started event at most, and one at most of ride.completed and ride.cancelled",
    `select ride_id from (${rideEvents}) as e where name <> 'ride.corrected' group by ride_id, name = 'ride.started' having count(*) > 1`,
  ],
  [
    "ride_started_event",
    "a ride that the operator has under way has its ride.started event",
    `select r.id from rides r, (${keptFrom}) as kept
     where r.system_id = $1 and r.status = 'started' and r.source = 'operator' and r.updated_at >= kept.instant
       and not exists (select from (${rideEvents}) as e where e.ride_id = r.id and e.name = 'ride.started')`,
  ],
  [
    "ride_ended_event",
    "a ride with a ride.started event has the event of its end once it has ended, and not before; only a completed ride has a ride.corrected",
    `select r.id
     from rides r
     join (select ride_id, bool_or(name = 'ride.started') as started, bool_or(name = 'ride.completed') as completed,
             bool_or(name = 'ride.cancelled') as cancelled, bool_or(name = 'ride.corrected') as corrected
           from (${rideEvents}) as events group by ride_id) as recorded on recorded.ride_id = r.id
     where r.system_id = $1
       and ((recorded.started and r.status = 'completed' and not recorded.completed)
         or (recorded.started and r.status = 'cancelled' and not recorded.cancelled)
         or ((recorded.completed or recorded.corrected) and r.status <> 'completed') or (recorded.cancelled and r.status <> 'cancelled'))`,
  ],
  [
    "event_positions",
    "events are numbered without gaps, up to the last number given",
    `select 'positions ' || min(position) || ' to ' || max(position) || ': ' || count(*) || ' events'
     from events where system_id = $1
     having count(*) <> max(position) - min(position) + 1
       or max(position) <> (select last_position from event_sequences where system_id = $1)`,
  ],
];

/** Deliveries of events. */
export const webhookInvariants: readonly InvariantText[] = [
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
  // No foreign key guards them: their tables are distributed one after the other.
  ...(["webhook_secrets", "webhook_lanes", "webhook_log_sizes"] as const).map((table): InvariantText => [
    `${table}_endpoint`,
    `a row of ${table} is of an endpoint that exists`,
    `select distinct part.endpoint_id from ${table} part
     where part.system_id = $1 and not exists (select from webhook_endpoints endpoint
       where endpoint.system_id = $1 and endpoint.id = part.endpoint_id)`,
  ]),
];
