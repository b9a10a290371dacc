-- A ride's wire form names no reservation: it is the same text for every partner, and a reservation is its owner's
-- alone. The owner finds the ride in its reservation's `ride_id`. The column stays, for the write side and `check`.
alter table rides drop column wire;
drop function ride_wire(text, text, text, text, text, timestamptz, timestamptz, integer, integer, text, text, text,
  boolean, text, timestamptz);

create function ride_wire(
  id text, bike_id text, status text, start_station_id text, end_station_id text, started_at timestamptz,
  ended_at timestamptz, duration_seconds integer, distance_meters integer, vehicle_type_id text,
  rider_category text, end_reason text, is_countable boolean, updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{"id":' || to_json(id)
    || ',"bike_id":' || to_json(bike_id)
    || ',"status":"' || status || '"'
    || ',"start_station_id":' || coalesce(to_json(start_station_id)::text, 'null')
    || ',"end_station_id":' || coalesce(to_json(end_station_id)::text, 'null')
    || ',"started_at":"' || to_char(started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
    || ',"ended_at":' || coalesce('"' || to_char(ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"duration_seconds":' || coalesce(duration_seconds::text, 'null')
    || ',"distance_meters":' || coalesce(distance_meters::text, 'null')
    || ',"vehicle_type_id":' || coalesce(to_json(vehicle_type_id)::text, 'null')
    || ',"rider_category":' || coalesce('"' || rider_category || '"', 'null')
    || ',"end_reason":' || coalesce('"' || end_reason || '"', 'null')
    || ',"is_countable":' || coalesce(is_countable::text, 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

-- Rewrites the table: about 10 s per million rides, during which rides are neither read nor written.
alter table rides add column wire text not null generated always as (ride_wire(
  id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds,
  distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at)) stored;

-- How many active reservations a partner may have at once; null: as many as the service allows by default.
alter table partners add column max_reservations integer check (max_reservations > 0);

-- A partner's active reservations, counted whenever it makes another.
create index reservations_active on reservations (system_id, partner_id, expires_at) where status = 'active';
-- What the filters `updated_since` and `ride_id` of the list of reservations look for.
create index reservations_updated on reservations (system_id, partner_id, updated_at);
create index reservations_ride on reservations (system_id, ride_id) where ride_id is not null;
