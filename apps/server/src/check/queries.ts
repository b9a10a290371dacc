import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { generatedColumns } from "../db/tables.generated.ts";
import { countInvariants } from "./count-invariants.ts";
import { eventInvariants } from "./event-invariants.ts";
import { webhookInvariants } from "./webhook-invariants.ts";

/** Something that is true of a system's rows between any two transactions. */
export interface Invariant {
  readonly name: string;
  /** What must be true. */
  readonly meaning: string;
  readonly statement: Statement;
}

/** How many rows an invariant does not hold for, and some of them. */
export interface Breach {
  readonly broken: number;
  readonly examples: readonly string[];
}

/** Examples that one breach shows. */
const EXAMPLES = 5;

/** @param broken a query of one column of text, a row for each thing that is wrong */
function invariant(name: string, meaning: string, broken: string): Invariant {
  const text = `with broken (example) as materialized (${broken})
    select count(*) as broken, array(select example from broken order by example limit ${EXAMPLES}) as examples from broken`;
  return { name, meaning, statement: statement(`check.${name}`, text) };
}

/** Counts what an invariant does not hold for, in one snapshot of the data. */
export async function findBreach(db: Queryable, systemId: string, { statement: broken }: Invariant): Promise<Breach> {
  return oneRow(await db.query<Breach>(broken, [systemId]));
}

const bikesAndRides = [
  invariant(
    "bike_ride",
    "a bike that names a ride is the bike of that ride, which has started and not ended",
    `select b.id from bikes b left join rides r on r.system_id = $1 and r.id = b.ride_id
     where b.system_id = $1 and b.ride_id is not null and (r.bike_id is distinct from b.id or r.status <> 'started')`,
  ),
  invariant(
    "ride_bike",
    "a ride that has started and not ended is the one that its bike names",
    `select r.id from rides r join bikes b on b.system_id = $1 and b.id = r.bike_id
     where r.system_id = $1 and r.status = 'started' and b.ride_id is distinct from r.id`,
  ),
  invariant(
    "on_trip_hidden",
    "a bike on a ride is on_trip, and neither its station nor its position is shown",
    `select id from bikes where system_id = $1 and (ride_id is not null or vehicle_state = 'on_trip')
       and (vehicle_state <> 'on_trip' or station_id is not null or lat is not null or lon is not null)`,
  ),
  invariant(
    "bike_shown",
    "a bike that is not on a ride is shown as it was last reported, or as reserved where a reservation holds it",
    `select id from bikes where system_id = $1 and ride_id is null and reported_state is not null
       -- a feed may say that somebody else holds the bike
       and not (vehicle_state = 'reserved' and reservation_id is null and source <> 'operator')
       and (vehicle_state, station_id, lat, lon) is distinct from
         (case when reservation_id is not null and reported_state = 'available' then 'reserved' else reported_state end,
          reported_station_id, reported_lat, reported_lon)`,
  ),
];

const reservations = [
  invariant(
    "bike_reservation",
    "a bike that names a reservation is the bike of that reservation, which is kept as active, and is on no ride",
    `select b.id from bikes b left join reservations v on v.system_id = $1 and v.id = b.reservation_id
     where b.system_id = $1 and b.reservation_id is not null
       and (v.bike_id is distinct from b.id or v.status <> 'active' or b.ride_id is not null)`,
  ),
  invariant(
    "reservation_bike",
    "a reservation that is kept as active is the one that its bike names",
    `select v.id from reservations v join bikes b on b.system_id = $1 and b.id = v.bike_id
     where v.system_id = $1 and v.status = 'active' and b.reservation_id is distinct from v.id`,
  ),
  invariant(
    "reservation_ride",
    "a fulfilled reservation and the ride that fulfilled it name each other, and have the same bike",
    `select coalesce(v.id, r.id)
     from (select id, ride_id, bike_id from reservations where system_id = $1 and status = 'fulfilled') v
     full join (select id, reservation_id, bike_id from rides where system_id = $1 and reservation_id is not null) r
       on r.reservation_id = v.id and r.id = v.ride_id
     where v.id is null or r.id is null or v.bike_id <> r.bike_id`,
  ),
];

const stationCounters = [
  invariant(
    "station_types",
    "the vehicles that are available at a station, by their types, are no more than those that are available there",
    `select id from stations s where s.system_id = $1 and s.num_bikes_available <
       (select sum((type ->> 'count')::bigint) from json_array_elements(s.vehicle_types_available) as type)`,
  ),
  invariant(
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
  ),
];

const json = (["station", "bike", "ride"] as const).map((noun) =>
  invariant(
    `${noun}_json`,
    `a ${noun}'s JSON says what its row says`,
    `select id from ${noun}s where system_id = $1 and json is distinct from ${generatedColumns[`${noun}s`].json}`,
  ),
);

/** Everything that is checked. */
const invariants: readonly Invariant[] = [
  ...bikesAndRides,
  ...reservations,
  ...stationCounters,
  ...json,
  ...countInvariants.map(([name, meaning, text]) => invariant(name, meaning, text)),
  ...eventInvariants.map(([name, meaning, text]) => invariant(name, meaning, text)),
  ...webhookInvariants.map(([name, meaning, text]) => invariant(name, meaning, text)),
];

export function listInvariants(): readonly Invariant[] {
  return invariants;
}
