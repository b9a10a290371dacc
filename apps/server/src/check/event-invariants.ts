// Events of rides, numbered already or not yet. Their data is the ride's JSON.
const rideEvents = `
  select name, data::json ->> 'id' as ride_id from events where system_id = $1 and name like 'ride.%'
  union all
  select name, data::json ->> 'id' from event_outbox where system_id = $1 and name like 'ride.%'`;

// Events are dropped after 30 days. From when on every one is still there: since ever while the first one is.
const keptFrom = `
  select case when coalesce(min(position), (select last_position + 1 from event_sequences where system_id = $1), 1) = 1
    then '-infinity' else coalesce(min(recorded_on) + 1, 'infinity') end::timestamptz as instant
  from events where system_id = $1`;

/** Name, meaning and query of each invariant of events. */
export const eventInvariants: readonly (readonly [name: string, meaning: string, broken: string])[] = [
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
    "a ride that was told of when it started has the event of its end once it has ended, and not before; of the ended ones the completed may be corrected",
    `select r.id
     from rides r
     join (select ride_id, bool_or(name = 'ride.started') as started, bool_or(name = 'ride.completed') as completed,
             bool_or(name = 'ride.cancelled') as cancelled, bool_or(name = 'ride.corrected') as corrected
           from (${rideEvents}) as events group by ride_id) as told on told.ride_id = r.id
     where r.system_id = $1
       and ((told.started and r.status = 'completed' and not told.completed)
         or (told.started and r.status = 'cancelled' and not told.cancelled)
         or ((told.completed or told.corrected) and r.status <> 'completed') or (told.cancelled and r.status <> 'cancelled'))`,
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
