import { HISTORY_RETENTION_DAYS } from "@bikeshare/contract";
import { freeDocks, hasOwnDocks, standsInDock } from "../../city/fleet/dock-sql-fragments.ts";
import { STATE_COLUMNS, stateOf } from "../../city/history/changes-sql-fragments.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import { generatedColumns } from "../../storage/db/tables.generated.ts";

/*
 * The invariants: conditions that a system's rows fulfil between any two transactions. `bikeshare check` and `backup verify`
 * count the rows that violate them. In every query, `$1` is the system.
 */

/**
 * Name, meaning and query of an invariant. The query returns one text column, with a row for each violation. `warning`: some
 * rows may violate it, such as imported ones, and the service works with them.
 */
type InvariantText = readonly [name: string, meaning: string, query: string, severity?: "error" | "warning"];

const bikesAndRides: readonly InvariantText[] = [
  [
    "bike_ride",
    "a bike that names a ride is the bike of that ride, which has started and not ended",
    `select b.id from bikes b left join rides r on r.system_id = $1 and r.id = b.ride_id
     where b.system_id = $1 and b.ride_id is not null and (r.bike_id is distinct from b.id or r.status <> 'started')`,
  ],
  [
    "ride_bike",
    "a ride that has started and not ended is the one that its bike names",
    `select r.id from rides r join bikes b on b.system_id = $1 and b.id = r.bike_id
     where r.system_id = $1 and r.status = 'started' and b.ride_id is distinct from r.id`,
  ],
  [
    "on_trip_hidden",
    "a bike on a ride is on_trip, and neither its station nor its position is shown",
    `select id from bikes where system_id = $1 and (ride_id is not null or vehicle_state = 'on_trip')
       and (vehicle_state <> 'on_trip' or station_id is not null or lat is not null or lon is not null)`,
  ],
  [
    "bike_shown",
    "a bike that is not on a ride is shown as it was last reported, or as reserved where a reservation holds it",
    `select id from bikes where system_id = $1 and ride_id is null and reported_state is not null
       -- a feed may say that somebody else holds the bike
       and not (vehicle_state = 'reserved' and reservation_id is null and source <> 'operator')
       and (vehicle_state, station_id, lat, lon) is distinct from
         (case when reservation_id is not null and reported_state = 'available' then 'reserved' else reported_state end,
          reported_station_id, reported_lat, reported_lon)`,
  ],
];

// `timed` has, for each ride, the latest end of the bike's earlier rides: of those that commands wrote, and of all. A ride
// without a duration overlaps with no other.
const overlaps = `
  with timed as (
    select id, bike_id, import_id, started_at,
      max(coalesce(ended_at, 'infinity')) filter (where import_id is null) over earlier as until_of_commands,
      max(coalesce(ended_at, 'infinity')) over earlier as until
    from rides where system_id = $1 and status <> 'cancelled' and ended_at is distinct from started_at
    window earlier as (partition by bike_id order by started_at, id rows between unbounded preceding and 1 preceding)),
  overlapping as (
    select id || ' of bike ' || bike_id as ride,
      import_id is null and coalesce(until_of_commands > started_at, false) as is_by_commands
    from timed where until > started_at)
  select ride from overlapping where`;

const rideTimes: readonly InvariantText[] = [
  [
    "ride_overlaps",
    "no two rides of one bike that commands wrote overlap: correct one of them with rides/correct.",
    `${overlaps} is_by_commands`,
  ],
  [
    "imported_overlaps",
    "no imported ride overlaps with another ride of its bike: an import takes what its file says.",
    `${overlaps} not is_by_commands`,
    "warning",
  ],
];

const reservations: readonly InvariantText[] = [
  [
    "bike_reservation",
    "a bike that names a reservation is the bike of that reservation, which is kept as active, and is on no ride",
    `select b.id from bikes b left join reservations v on v.system_id = $1 and v.id = b.reservation_id
     where b.system_id = $1 and b.reservation_id is not null
       and (v.bike_id is distinct from b.id or v.status <> 'active' or b.ride_id is not null)`,
  ],
  [
    "reservation_bike",
    "a reservation that is kept as active is the one that its bike names",
    `select v.id from reservations v join bikes b on b.system_id = $1 and b.id = v.bike_id
     where v.system_id = $1 and v.status = 'active' and b.reservation_id is distinct from v.id`,
  ],
  [
    "reservation_ride",
    "a fulfilled reservation and the ride that fulfilled it name each other, and have the same bike",
    `select coalesce(v.id, r.id)
     from (select id, ride_id, bike_id from reservations where system_id = $1 and status = 'fulfilled') v
     full join (select id, reservation_id, bike_id from rides where system_id = $1 and reservation_id is not null) r
       on r.reservation_id = v.id and r.id = v.ride_id
     where v.id is null or r.id is null or v.bike_id <> r.bike_id`,
  ],
  [
    "reservation_ride_cancelled",
    "a reservation whose ride was cancelled says when, and no other does",
    `select v.id from reservations v left join rides r on r.system_id = $1 and r.id = v.ride_id
     where v.system_id = $1 and v.ride_cancelled_at is distinct from case when r.status = 'cancelled' then r.ended_at end`,
  ],
  [
    "reservation_station",
    "a reservation that is kept as active and not over is at the station where its bike stands",
    `select v.id from reservations v join bikes b on b.system_id = $1 and b.reservation_id = v.id
     where v.system_id = $1 and v.status = 'active' and v.expires_at > now()
       and v.station_id is distinct from b.station_id`,
  ],
];

const stationBikes: readonly InvariantText[] = [
  [
    "removed_station",
    "no bike stands at a removed station",
    `select b.id from bikes b join stations s on s.system_id = $1 and s.id = b.station_id
     where b.system_id = $1 and s.status = 'removed'`,
  ],
  [
    "station_docks",
    "the free docks of the operator's stations follow the bikes that stand there",
    `with standing as (
       select station_id, count(*)::int as n from bikes b
       where system_id = $1 and station_id is not null and ${standsInDock("b")} group by station_id)
     select s.id from stations s left join standing on standing.station_id = s.id
     where s.system_id = $1 and ${hasOwnDocks("s")} and s.num_docks_available is distinct from ${freeDocks({
       base: "s.docks_base",
       capacity: "s.capacity",
       disabled: "s.num_docks_disabled",
       standing: "coalesce(standing.n, 0)",
     })}`,
  ],
];

const alerts: readonly InvariantText[] = [
  [
    "station_closure",
    "a station that was taken offline with an alert which is open is offline, and not removed",
    `select a.id from rider_alerts a left join stations s on s.system_id = $1 and s.id = a.closes_station
     where a.system_id = $1 and a.ended_at is null and a.closes_station is not null and s.status is distinct from 'offline'`,
  ],
  // An alert that its feed lists no more ends at once, or ten minutes after it was opened if that is later (`MIN_OPEN_MS`).
  // `times.end` is null when one of the alert's times has no end, or when it has no times.
  [
    "alert_times",
    "an alert ends when or after it was opened; when the clock ends it follows from its times, or its feed lists it no more",
    `select id from rider_alerts, lateral (
       select case when count(*) = count(time ->> 'end') then max((time ->> 'end')::timestamptz(3)) end as end
       from jsonb_array_elements(content -> 'times') as time) as times
     where system_id = $1 and (ended_at < opened_at or ends_at is distinct from times.end
       and not (source <> 'operator' and ends_at = opened_at + interval '10 minutes'
         and ends_at < coalesce(times.end, 'infinity')))`,
  ],
];

const quotas: readonly InvariantText[] = [
  [
    "partner_quota",
    "a partner has the row that is locked while its reservations are counted",
    `select p.id from partners p where p.system_id = $1
       and not exists (select from reservation_quotas q where q.system_id = $1 and q.partner_id = p.id)`,
  ],
];

const stationCounters: readonly InvariantText[] = [
  [
    "station_types",
    "the vehicles that are available at a station, by their types, are no more than those that are available there",
    `select id from stations s where s.system_id = $1 and s.num_bikes_available <
       (select sum((type ->> 'count')::bigint) from json_array_elements(s.vehicle_types_available) as type)`,
  ],
  [
    "station_counters",
    "the counters of a station whose counters follow its bikes are the numbers of its bikes",
    `with types as (
       select station_id, vehicle_type_id, count(*) filter (where vehicle_state = 'available') as available,
         count(*) filter (where vehicle_state = 'reserved') as reserved,
         count(*) filter (where vehicle_state = 'non_operational') as disabled
       from bikes where system_id = $1 and station_id is not null group by station_id, vehicle_type_id),
     counts as (
       select station_id, sum(available) as available, sum(reserved) as reserved, sum(disabled) as disabled,
         jsonb_object_agg(vehicle_type_id, available) filter (where vehicle_type_id is not null) as by_type
       from types group by station_id)
     select s.id from stations s left join counts c on c.station_id = s.id
     where s.system_id = $1 and s.counters = 'operated'
       and (s.num_bikes_available, s.num_bikes_reserved, coalesce(s.num_bikes_disabled, 0),
           (select coalesce(jsonb_object_agg(t ->> 'vehicle_type_id', (t ->> 'count')::bigint), '{}')
            from json_array_elements(s.vehicle_types_available) as t))
         is distinct from (coalesce(c.available, 0), coalesce(c.reserved, 0), coalesce(c.disabled, 0), coalesce(c.by_type, '{}'))`,
  ],
];

const history: readonly InvariantText[] = [
  [
    "station_history",
    "a station's newest recorded change is the state that it has. A process of an older release, which worked beside this one, may have written a state that is not recorded: the next change records it.",
    `select s.id from (
       select id, known_since, ${stateOf("stations")} from stations where system_id = $1
         and state_since > now() - interval '${HISTORY_RETENTION_DAYS} days') as s
     left join lateral (
       select ${STATE_COLUMNS.join(", ")}, at from station_changes where system_id = $1 and station_id = s.id
       order by at desc limit 1) as c on true
     where c.at is distinct from s.state_since or s.known_since > s.state_since
       or (${STATE_COLUMNS.map((name) => `s.${name}`).join(", ")}) is distinct from (${STATE_COLUMNS.map((name) => `c.${name}`).join(", ")})`,
    "warning",
  ],
];

const vehicleLog: readonly InvariantText[] = [
  [
    "vehicle_log",
    "the state of a bike is the state of its newest vehicle event. A process of an older release, which worked beside this one, may have written a state that is not logged: the next change logs it.",
    `select id from bikes where system_id = $1 and last_event is not null
       and vehicle_state is distinct from last_event::json ->> 'vehicle_state'`,
    "warning",
  ],
];

/** Returns SQL for the beginning of the quarter of an hour in which an instant lies. */
const quarterOf = (instant: string) => `date_bin(interval '15 minutes', ${instant}, timestamptz 'epoch')`;

// Compares the stored sums of rides (`ride_quarters`) with the rides. `next_hour` is the start of the hour that was
// under way when changed rides were last read for the sums; the 24 hours that are compared end an hour before it.
// Compares nothing until rides have been summed since that start (`summed_to`). Leaves out hours (`left_out`) that are to be
// summed again (`sum_marks`), and hours with rides whose latest change has not been read for the sums (`is_unread`).
const sums: readonly InvariantText[] = [
  [
    "ride_sums",
    "the summed rides of each quarter of an hour of the last 24 hours, without the newest, are those that started and ended in it",
    `with span as materialized (
       select position, next_hour - interval '25 hours' as begins, next_hour - interval '1 hour' as ends
       from sum_progress where system_id = $1 and summed_to >= next_hour),
     happened as materialized (
       select r.started_at as at, (r.status <> 'cancelled')::int as started, 0 as ended, r.change_position > span.position as is_unread
       from span join rides r on r.system_id = $1 and r.started_at >= span.begins and r.started_at < span.ends
       union all
       select r.ended_at, 0, (r.status = 'completed')::int, r.change_position > span.position
       from span join rides r on r.system_id = $1 and r.ended_at >= span.begins and r.ended_at < span.ends),
     left_out as materialized (
       select date_trunc('hour', at, 'UTC') as hour from happened where is_unread
       union all select hour from sum_marks where system_id = $1)
     select to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"') || ': '
       || coalesce(kept.started, 0) || ' started and ' || coalesce(kept.ended, 0) || ' ended kept, '
       || coalesce(real.started, 0) || ' and ' || coalesce(real.ended, 0) || ' there'
     from (select ${quarterOf("at")} as starts_at, sum(started) as started, sum(ended) as ended from happened group by 1) as real
     full join (
       select q.starts_at, q.rides_started as started, q.rides_ended as ended
       from span join ride_quarters q on q.system_id = $1 and q.starts_at >= span.begins and q.starts_at < span.ends) as kept
       using (starts_at)
     where (coalesce(kept.started, 0), coalesce(kept.ended, 0)) <> (coalesce(real.started, 0), coalesce(real.ended, 0))
       and not exists (select from left_out where hour = date_trunc('hour', starts_at, 'UTC'))`,
  ],
];

/** Invariants of stored counts: the lengths of lists, and the rides of each hour, day and month. */
const counts: readonly InvariantText[] = [
  [
    "list_counts",
    "the kept length of each list is the number of its rows",
    `select real.list || ': ' || coalesce(kept.n, 0) || ' kept, ' || real.n || ' there'
     from (select 'stations' as list, count(*) as n from stations where system_id = $1
           union all select 'bikes', count(*) from bikes where system_id = $1
           union all select 'rides', count(*) from rides where system_id = $1) as real
     left join (select list, sum(n) as n from list_counts where system_id = $1 group by list) as kept using (list)
     where coalesce(kept.n, 0) <> real.n`,
  ],
  [
    "ride_counts",
    "the kept number of rides of each hour, day and month is the number of rides that started in it",
    `select period || ' ' || to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"') || ': ' || coalesce(kept.n, 0)
       || ' kept, ' || coalesce(real.n, 0) || ' there'
     from (select period, date_trunc(period, started_at at time zone 'UTC') at time zone 'UTC' as starts_at, count(*) as n
           from rides cross join (values ('hour'), ('day'), ('month')) as periods (period)
           where system_id = $1 group by 1, 2) as real
     full join (select period, starts_at, sum(n) as n from ride_counts where system_id = $1 group by 1, 2) as kept
       using (period, starts_at)
     where coalesce(kept.n, 0) <> coalesce(real.n, 0)`,
  ],
];

const fleetInvariants = [
  ...bikesAndRides,
  ...rideTimes,
  ...reservations,
  ...stationBikes,
  ...alerts,
  ...quotas,
  ...stationCounters,
  ...history,
  ...sums,
  ...vehicleLog,
  ...counts,
];

// Events of rides, numbered or not. Their data is the ride's JSON. Leaves out damaged data, which violate the invariant
// event_data.
const rideEvents = `
  select name, data::json ->> 'id' as ride_id from events
  where system_id = $1 and name like 'ride.%' and data like '{%}'
  union all
  select name, data::json ->> 'id' from event_outbox
  where system_id = $1 and name like 'ride.%' and data like '{%}'`;

// The time since which no event has been dropped: events are dropped after 30 days. It is -infinity as long as the first
// event exists or none has been numbered, and infinity when all numbered events have been dropped.
const keptFrom = `
  select case when coalesce(min(position), (select last_position + 1 from event_sequences where system_id = $1), 1) = 1
    then '-infinity' else coalesce(min(recorded_on) + 1, 'infinity') end::timestamptz as instant
  from events where system_id = $1`;

const eventInvariants: readonly InvariantText[] = [
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

/** Invariants of the deliveries of events. Exported for tests. */
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
  // No foreign key enforces these, because the tables are distributed one after the other.
  ...(["webhook_secrets", "webhook_lanes", "webhook_log_sizes"] as const).map((table): InvariantText => [
    `${table}_endpoint`,
    `a row of ${table} is of an endpoint that exists`,
    `select distinct part.endpoint_id from ${table} part
     where part.system_id = $1 and not exists (select from webhook_endpoints endpoint
       where endpoint.system_id = $1 and endpoint.id = part.endpoint_id)`,
  ]),
];

/** A condition that a system's rows fulfil between any two transactions. */
interface Invariant {
  readonly name: string;
  /** The condition, in words. */
  readonly meaning: string;
  readonly severity: "error" | "warning";
  readonly statement: Statement;
}

/** The number of rows that violate an invariant, and examples. */
export interface Breach {
  readonly broken: number;
  readonly examples: readonly string[];
}

/** Maximum examples of one violation. */
const MAX_EXAMPLES = 5;

/** Invariants of the stored JSON of rows: it is what the expression that generates it gives now. */
const jsonInvariants = (["station", "bike", "ride"] as const).map((noun): InvariantText => [
  `${noun}_json`,
  `a ${noun}'s JSON says what its row says`,
  `select id from ${noun}s where system_id = $1 and json is distinct from ${generatedColumns[`${noun}s`].json}`,
]);

/** Returns every invariant. */
export function listInvariants(): readonly Invariant[] {
  return [...fleetInvariants, ...jsonInvariants, ...eventInvariants, ...webhookInvariants].map(
    ([name, meaning, query, severity = "error"]): Invariant => ({
      name,
      meaning,
      severity,
      statement: statement(
        `check.${name}`,
        `with broken (example) as materialized (${query})
         select count(*) as broken, array(select example from broken order by example limit ${MAX_EXAMPLES}) as examples
         from broken`,
      ),
    }),
  );
}

/** Counts the violations of an invariant in one snapshot of the data. */
export async function findBreach(db: Queryable, systemId: string, { statement: broken }: Invariant): Promise<Breach> {
  return oneRow(await db.query<Breach>(broken, [systemId]));
}
