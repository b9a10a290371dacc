-- System tables: every row belongs to one system, named first in every key and index.

-- The instant as it goes over the wire, RFC 3339 in UTC to the millisecond, is
--   to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
-- written out in each *_wire function, because a function called inside a function costs four times as much.
-- The *_wire functions are declared immutable: their result depends on their arguments alone, whatever the
-- session's time zone, date style or locale. They are the one place that makes a row's wire form.

create function station_wire(
  id text, name text, short_name text, lat double precision, lon double precision, address text, region_id text,
  capacity integer, is_virtual_station boolean, is_installed boolean, is_renting boolean, is_returning boolean,
  num_bikes_available integer, num_bikes_reserved integer, num_bikes_disabled integer, num_docks_available integer,
  num_docks_disabled integer, vehicle_types_available json, status text, offline_reason text,
  last_reported timestamptz, updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{"id":' || to_json(id)
    || ',"name":' || to_json(name)
    || ',"short_name":' || coalesce(to_json(short_name)::text, 'null')
    || ',"lat":' || lat
    || ',"lon":' || lon
    || ',"address":' || coalesce(to_json(address)::text, 'null')
    || ',"region_id":' || coalesce(to_json(region_id)::text, 'null')
    || ',"capacity":' || coalesce(capacity::text, 'null')
    || ',"is_virtual_station":' || is_virtual_station::text
    || ',"is_installed":' || is_installed::text
    || ',"is_renting":' || is_renting::text
    || ',"is_returning":' || is_returning::text
    || ',"num_bikes_available":' || num_bikes_available
    || ',"num_bikes_reserved":' || num_bikes_reserved
    || ',"num_bikes_disabled":' || coalesce(num_bikes_disabled::text, 'null')
    || ',"num_docks_available":' || coalesce(num_docks_available::text, 'null')
    || ',"num_docks_disabled":' || coalesce(num_docks_disabled::text, 'null')
    || ',"vehicle_types_available":' || vehicle_types_available
    || ',"status":"' || status || '"'
    || ',"offline_reason":' || coalesce('"' || offline_reason || '"', 'null')
    || ',"last_reported":' || coalesce('"' || to_char(last_reported at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

create function bike_wire(
  id text, number text, vehicle_type_id text, vehicle_state text, station_id text,
  lat double precision, lon double precision, current_range_meters integer,
  last_reported timestamptz, updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{"id":' || to_json(id)
    || ',"number":' || coalesce(to_json(number)::text, 'null')
    || ',"vehicle_type_id":' || coalesce(to_json(vehicle_type_id)::text, 'null')
    || ',"vehicle_state":"' || vehicle_state || '"'
    || ',"station_id":' || coalesce(to_json(station_id)::text, 'null')
    || ',"lat":' || coalesce(lat::text, 'null')
    || ',"lon":' || coalesce(lon::text, 'null')
    || ',"current_range_meters":' || coalesce(current_range_meters::text, 'null')
    || ',"last_reported":' || coalesce('"' || to_char(last_reported at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

create function ride_wire(
  id text, bike_id text, status text, start_station_id text, end_station_id text, started_at timestamptz,
  ended_at timestamptz, duration_seconds integer, distance_meters integer, vehicle_type_id text,
  rider_category text, end_reason text, is_countable boolean, reservation_id text, updated_at timestamptz
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
    || ',"reservation_id":' || coalesce(to_json(reservation_id)::text, 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

-- system.
create table stations (
  system_id           text collate "C" not null,
  id                  text collate "C" not null check (length(id) between 1 and 255),
  name                text not null,
  short_name          text,
  lat                 double precision not null check (lat between -90 and 90),
  lon                 double precision not null check (lon between -180 and 180),
  address             text,
  region_id           text collate "C",
  capacity            integer check (capacity >= 0),
  is_virtual_station  boolean not null default false,
  is_installed        boolean not null,
  is_renting          boolean not null,
  is_returning        boolean not null,
  num_bikes_available integer not null default 0 check (num_bikes_available >= 0),
  num_bikes_reserved  integer not null default 0 check (num_bikes_reserved >= 0),
  num_bikes_disabled  integer check (num_bikes_disabled >= 0),
  num_docks_available integer check (num_docks_available >= 0),
  num_docks_disabled  integer check (num_docks_disabled >= 0),
  -- json, not jsonb: it goes over the wire as it was written; without line ends, because those part rows there
  vehicle_types_available json not null default '[]' check (vehicle_types_available::text !~ '[\n\r]'),
  status              text not null check (status in ('planned', 'online', 'offline', 'removed')),
  offline_reason      text check (offline_reason in ('flags', 'operator', 'removed_from_source', 'stale')),
  last_reported       timestamptz(3),
  updated_at          timestamptz(3) not null,
  -- who is the authority: a feed's or trip source's name, or `operator`
  source              text not null,
  -- mirrored: the feed's counters are the truth; operated: they follow the bikes
  counters            text not null check (counters in ('mirrored', 'operated')),
  -- good snapshots in a row that did not name this station
  absent_snapshots    smallint not null default 0,
  wire text not null generated always as (station_wire(
    id, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station, is_installed, is_renting,
    is_returning, num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available,
    num_docks_disabled, vehicle_types_available, status, offline_reason, last_reported, updated_at)) stored,
  primary key (system_id, id),
  check (offline_reason is null or status in ('offline', 'removed'))
);
create index stations_updated_at on stations (system_id, updated_at);

-- system.
create table bikes (
  system_id       text collate "C" not null,
  id              text collate "C" not null check (length(id) between 1 and 255),
  number          text,
  vehicle_type_id text collate "C",
  vehicle_state   text not null check (vehicle_state in
    ('available', 'reserved', 'on_trip', 'non_operational', 'non_contactable', 'missing', 'removed')),
  station_id      text collate "C",
  lat             double precision check (lat between -90 and 90),
  lon             double precision check (lon between -180 and 180),
  current_range_meters integer check (current_range_meters >= 0),
  last_reported   timestamptz(3),
  updated_at      timestamptz(3) not null,
  source          text not null,
  wire text not null generated always as (bike_wire(
    id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters, last_reported,
    updated_at)) stored,
  primary key (system_id, id),
  -- where a rider is must not be read here
  check (vehicle_state <> 'on_trip' or (lat is null and lon is null and station_id is null))
);
create index bikes_station on bikes (system_id, station_id, vehicle_state);

-- system. Not partitioned: a ride's id could then not be unique.
create table rides (
  system_id        text collate "C" not null,
  id               text collate "C" not null check (length(id) between 1 and 255),
  bike_id          text collate "C" not null check (length(bike_id) between 1 and 255),
  status           text not null check (status in ('started', 'completed', 'cancelled')),
  start_station_id text collate "C",
  end_station_id   text collate "C",
  started_at       timestamptz(3) not null,
  ended_at         timestamptz(3),
  duration_seconds integer check (duration_seconds >= 0),
  distance_meters  integer check (distance_meters >= 0),
  vehicle_type_id  text collate "C",
  rider_category   text check (rider_category in ('member', 'casual')),
  end_reason       text check (end_reason in ('returned', 'free_floating', 'operator', 'timeout', 'cancelled')),
  is_countable     boolean,
  reservation_id   text collate "C",
  updated_at       timestamptz(3) not null,
  source           text not null,
  wire text not null generated always as (ride_wire(
    id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds,
    distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, reservation_id, updated_at)) stored,
  primary key (system_id, id),
  check (ended_at >= started_at),
  check ((status = 'started') = (ended_at is null))
);
create index rides_started_at on rides (system_id, started_at, id);
create index rides_bike on rides (system_id, bike_id, started_at, id);
create index rides_start_station on rides (system_id, start_station_id, started_at, id);
create index rides_end_station on rides (system_id, end_station_id, started_at, id);
create index rides_updated_at on rides (system_id, updated_at);
create index rides_unfinished on rides (system_id, status, started_at, id) where status <> 'completed';
-- The second guard of "one started ride per bike"; the bike's own row, locked, is the first.
create unique index rides_one_started_per_bike on rides (system_id, bike_id) where status = 'started';

-- system. How many items each list has: the sum of its slots. Several slots, so that writers do not queue.
create table list_counts (
  system_id text collate "C" not null,
  list      text collate "C" not null check (list in ('stations', 'bikes', 'rides')),
  slot      smallint not null,
  n         bigint not null,
  -- how often the slot was changed: while the sum stands still, no row came or went
  changes   bigint not null default 1,
  primary key (system_id, list, slot)
);

-- system. How many rides started in each month, day and hour (UTC): what makes a page at any depth cheap.
create table ride_counts (
  system_id text collate "C" not null,
  period    text collate "C" not null check (period in ('month', 'day', 'hour')),
  starts_at timestamptz(0) not null,
  slot      smallint not null,
  n         bigint not null,
  primary key (system_id, period, starts_at, slot)
);
