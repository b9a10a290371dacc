-- Docks of the operator's stations follow their bikes; a reservation says that the ride which fulfilled it was cancelled; no
-- bike stands at a removed station.
-- oldest program: 0.1.0

-- step: transaction
-- The docks that the operator last reported as free, and the bikes that stood at the station then: that many, less the
-- bikes that stand there, are free. Null: never reported.
alter table stations add column docks_base integer;
-- When the ride that fulfilled the reservation was cancelled.
alter table reservations add column ride_cancelled_at timestamptz(3);

-- Beside the function of the same name, which the program of the release before uses.
create function reservation_json(
  id text, status text, station_id text, bike_id text, vehicle_type_id text, rider_ref text, created_at timestamptz,
  expires_at timestamptz, cancelled_at timestamptz, cancel_reason text, ride_id text, ride_cancelled_at timestamptz,
  updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{"id":' || to_json(id)
    || ',"status":"' || status || '"'
    || ',"station_id":' || coalesce(to_json(station_id)::text, 'null')
    || ',"bike_id":' || to_json(bike_id)
    || ',"vehicle_type_id":' || coalesce(to_json(vehicle_type_id)::text, 'null')
    || ',"rider_ref":' || coalesce(to_json(rider_ref)::text, 'null')
    || ',"created_at":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
    || ',"expires_at":"' || to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
    || ',"cancelled_at":' || coalesce('"' || to_char(cancelled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"cancel_reason":' || coalesce('"' || cancel_reason || '"', 'null')
    || ',"ride_id":' || coalesce(to_json(ride_id)::text, 'null')
    || ',"ride_cancelled_at":' || coalesce('"' || to_char(ride_cancelled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

-- Where the bike was when its station was removed, or at the station's position.
-- step: backfill bikes
update bikes set
  station_id = case when vehicle_state <> 'on_trip' then null end,
  lat = case when vehicle_state <> 'on_trip' then coalesce(lat, (
    select s.lat from stations s where s.system_id = bikes.system_id and s.id = coalesce(bikes.reported_station_id, bikes.station_id))) end,
  lon = case when vehicle_state <> 'on_trip' then coalesce(lon, (
    select s.lon from stations s where s.system_id = bikes.system_id and s.id = coalesce(bikes.reported_station_id, bikes.station_id))) end,
  reported_lat = case when reported_state is null then reported_lat else coalesce(reported_lat, (
    select s.lat from stations s where s.system_id = bikes.system_id and s.id = bikes.reported_station_id)) end,
  reported_lon = case when reported_state is null then reported_lon else coalesce(reported_lon, (
    select s.lon from stations s where s.system_id = bikes.system_id and s.id = bikes.reported_station_id)) end,
  reported_station_id = null, updated_at = now()
where coalesce(reported_station_id, station_id) is not null and :batch
  and exists (select from stations s where s.system_id = bikes.system_id
    and s.id = coalesce(bikes.reported_station_id, bikes.station_id) and s.status = 'removed');

-- What a station shows was reported last. One that shows nothing has as many free docks as its capacity leaves.
-- step: backfill stations
update stations set
  docks_base = num_docks_available + (
    select count(*) from bikes b where b.system_id = stations.system_id and b.station_id = stations.id
      and b.vehicle_state in ('available', 'reserved', 'non_operational', 'non_contactable')),
  num_docks_available = coalesce(num_docks_available, greatest(0, capacity - coalesce(num_docks_disabled, 0) - (
    select count(*) from bikes b where b.system_id = stations.system_id and b.station_id = stations.id
      and b.vehicle_state in ('available', 'reserved', 'non_operational', 'non_contactable')))),
  num_bikes_available = case when status = 'removed' then 0 else num_bikes_available end,
  num_bikes_reserved = case when status = 'removed' then 0 else num_bikes_reserved end,
  num_bikes_disabled = case when status = 'removed' then 0 else num_bikes_disabled end,
  vehicle_types_available = case when status = 'removed' then '[]' else vehicle_types_available end,
  updated_at = case when status = 'removed' or num_docks_available is null then now() else updated_at end
where source = 'operator' and counters = 'operated' and docks_base is null
  and (num_docks_available is not null or capacity is not null or status = 'removed') and :batch;

-- step: backfill reservations
update reservations set ride_cancelled_at = ride.ended_at, updated_at = now()
from rides ride
where ride.system_id = reservations.system_id and ride.id = reservations.ride_id and ride.status = 'cancelled'
  and reservations.ride_cancelled_at is null and :batch;
