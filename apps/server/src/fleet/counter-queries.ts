import type { CounterShift } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

// Whoever changes a station's bikes holds the station's row first, so the count below sees every other change.
const lock = statement(
  "counters.lock",
  `select id from stations where system_id = $1 and id = any($2::text[]) and counters = 'operated' order by id for update`,
);

// Station by station (lateral), each by its index: whatever the planner believes of the tables, it can do no worse. Left
// free it has read every bike of a system for a batch.
const recount = statement(
  "counters.recount",
  `with counts as materialized (
     select wanted.id, coalesce(c.available, 0) as available, coalesce(c.reserved, 0) as reserved,
       coalesce(c.disabled, 0) as disabled, coalesce(c.by_type, '[]') as by_type
     from unnest($2::text[]) as wanted(id)
     left join lateral (
       select sum(available)::int as available, sum(reserved)::int as reserved, sum(disabled)::int as disabled,
         '[' || string_agg('{"vehicle_type_id":' || to_json(vehicle_type_id) || ',"count":' || available || '}', ','
           order by vehicle_type_id) filter (where vehicle_type_id is not null) || ']' as by_type
       from (select vehicle_type_id, count(*) filter (where vehicle_state = 'available') as available,
               count(*) filter (where vehicle_state = 'reserved') as reserved,
               count(*) filter (where vehicle_state = 'non_operational') as disabled
             from bikes where system_id = $1 and station_id = wanted.id group by vehicle_type_id) as types) as c on true)
   update stations s set num_bikes_available = c.available, num_bikes_reserved = c.reserved,
     num_bikes_disabled = c.disabled, vehicle_types_available = c.by_type::json, updated_at = $3::timestamptz
   from counts c
   where s.system_id = $1 and s.id = c.id and s.counters = 'operated'
     and (s.num_bikes_available, s.num_bikes_reserved, coalesce(s.num_bikes_disabled, -1), s.vehicle_types_available::text)
       is distinct from (c.available, c.reserved, c.disabled, c.by_type)`,
);

// Locked in the order of their ids before they are written, so that two transactions never wait for each other in a ring.
// A type's count follows the bikes of that type, and the types never add up to more than the bikes that are available:
// where the feed did not list the type of a bike that left, the last types give way.
const shift = statement(
  "counters.shift",
  `with given as materialized (
     select id, type, sum(available)::int as available, sum(reserved)::int as reserved
     from unnest($2::text[], $3::int[], $4::int[], $6::text[]) as each(id, available, reserved, type)
     group by id, type),
   total as materialized (
     select id, sum(available)::int as available, sum(reserved)::int as reserved
     from given group by id having sum(available) <> 0 or sum(reserved) <> 0),
   locked as materialized (
     select id from stations where system_id = $1 and id = any(array(select id from total)) and counters = 'mirrored'
     order by id for update)
   update stations s set num_bikes_available = greatest(0, s.num_bikes_available + total.available),
     num_bikes_reserved = greatest(0, s.num_bikes_reserved + total.reserved),
     vehicle_types_available = (
       select coalesce('[' || string_agg('{"vehicle_type_id":' || to_json(id) || ',"count":'
           || greatest(0, least(count, s.num_bikes_available + total.available - before)) || '}', ',' order by n) || ']', '[]')
       from (select id, count, n, sum(count) over (order by n) - count as before
             from (select type ->> 'vehicle_type_id' as id, n, greatest(0, (type ->> 'count')::bigint + coalesce(
                     (select given.available from given where given.id = s.id and given.type = listed.type ->> 'vehicle_type_id'),
                     0)) as count
                   from json_array_elements(s.vehicle_types_available) with ordinality as listed(type, n)) as shifted) as summed
     )::json,
     updated_at = $5::timestamptz
   from total join locked using (id)
   where s.system_id = $1 and s.id = total.id`,
);

const tell = statement("counters.tell", "select pg_notify('stations', $1)");

/**
 * Makes the counters of operated stations equal to their bikes, as the transaction leaves them. To be called after
 * the bikes are written; takes the stations' locks, in the order of their ids.
 */
export async function refreshCounters(
  tx: Transaction,
  systemId: string,
  stationIds: readonly string[],
  now: Date,
): Promise<void> {
  if (stationIds.length === 0) return;
  const ids = [...new Set(stationIds)].sort();
  const operated = (await tx.query<{ id: string }>(lock, [systemId, ids])).map((row) => row.id);
  if (operated.length === 0) return;
  await tx.query(recount, [systemId, operated, now]);
  await tx.query(tell, [systemId]);
}

/** By how many bikes of a type the counters of a mirrored station change. */
export interface MirroredShift extends CounterShift {
  /** Null: nobody said. */
  readonly vehicleTypeId: string | null;
}

/** Changes the counters of mirrored stations by differences, until the feed speaks again. */
export async function shiftMirrored(
  tx: Transaction,
  systemId: string,
  changes: readonly MirroredShift[],
  now: Date,
): Promise<void> {
  if (changes.length === 0) return;
  await tx.query(shift, [
    systemId,
    changes.map((change) => change.stationId),
    changes.map((change) => change.available),
    changes.map((change) => change.reserved),
    now,
    changes.map((change) => change.vehicleTypeId),
  ]);
  await tx.query(tell, [systemId]);
}
