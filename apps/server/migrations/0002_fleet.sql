-- The fleet: stations, bikes, rides and reservations, which change together. System tables: every row belongs to one
-- system, named first in every key and index.

-- A row's JSON, as it is sent, is made only by the *_json functions. An instant is RFC 3339 in UTC to the millisecond:
--   to_char(t at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
-- It is written out each time, because a function called inside a function costs four times as much. The functions are
-- immutable: the result depends on the arguments alone, whatever the session's time zone, date style or locale.

create function station_json(
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

create function bike_json(
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

create function ride_json(
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

create function reservation_json(
  id text, status text, station_id text, bike_id text, vehicle_type_id text, rider_ref text, created_at timestamptz,
  expires_at timestamptz, cancelled_at timestamptz, cancel_reason text, ride_id text, updated_at timestamptz
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
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

-- system. A location where bikes are rented and returned.
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
  -- json, not jsonb: it is sent as it was written. Without line ends, because those separate rows in a page.
  vehicle_types_available json not null default '[]' check (vehicle_types_available::text !~ '[\n\r]'),
  status              text not null check (status in ('planned', 'online', 'offline', 'removed')),
  offline_reason      text check (offline_reason in ('flags', 'operator', 'removed_from_source', 'stale')),
  last_reported       timestamptz(3),
  updated_at          timestamptz(3) not null,
  -- where it comes from: the name of a feed or of a trip file's source, or `operator`
  source              text not null,
  -- mirrored: the counters are those of the source's feed; operated: they are counted from the bikes
  counters            text not null check (counters in ('mirrored', 'operated')),
  -- successive good snapshots that did not list this station
  absent_snapshots    smallint not null default 0,
  -- The snapshot that last listed this part of the station. Null: the newest one of its feed, so that a snapshot in which
  -- nothing changed writes no row.
  information_as_of   timestamptz(3),
  status_as_of        timestamptz(3),
  -- some snapshot said `is_installed`: distinguishes a station that is gone from one that is still planned
  was_installed       boolean not null default false,
  -- the import that created the placeholder station; null: the station was created otherwise
  import_id           text collate "C",
  json text not null generated always as (station_json(
    id, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station, is_installed, is_renting,
    is_returning, num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available,
    num_docks_disabled, vehicle_types_available, status, offline_reason, last_reported, updated_at)) stored,
  primary key (system_id, id),
  check (offline_reason is null or status in ('offline', 'removed'))
)
-- Counters change all the time: vacuumed often, the table stays small.
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index stations_updated_at on stations (system_id, updated_at);
-- Finds the stations in a rectangle of the map: latitudes as a range, longitudes and ids (the order of lists) in the index.
create index stations_location on stations (system_id, lat, lon, id);

-- system. A bike. Its state follows from three things: the ride it is on, the reservation that holds it, and what was last
-- reported of it. Reports are kept in columns of their own, each with the time at which it was true, because they arrive
-- late, twice and in any order, also while a ride hides them.
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
  ride_id         text collate "C",
  reservation_id  text collate "C",
  reported_state  text check (reported_state in
    ('available', 'non_operational', 'non_contactable', 'missing', 'removed')),
  reported_state_at    timestamptz(3),
  reported_station_id  text collate "C",
  reported_lat         double precision,
  reported_lon         double precision,
  reported_position_at timestamptz(3),
  reported_range_at    timestamptz(3),
  -- A public id for GBFS that does not identify the bike: replaced whenever a ride ends.
  public_id       text collate "C",
  json text not null generated always as (bike_json(
    id, number, vehicle_type_id, vehicle_state, station_id, lat, lon, current_range_meters, last_reported,
    updated_at)) stored,
  primary key (system_id, id),
  -- a rider's position must not be readable here
  check (vehicle_state <> 'on_trip' or (lat is null and lon is null and station_id is null)),
  check ((vehicle_state = 'on_trip') = (ride_id is not null) or ride_id is null)
)
-- Positions change all the time: vacuumed often, the table stays small.
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index bikes_station on bikes (system_id, station_id, vehicle_state);
create index bikes_location on bikes (system_id, lat, lon, id) where lat is not null;
-- Lists the vehicle types in use by stepping from one to the next, whatever the number of bikes (rides have one as well).
create index bikes_vehicle_type on bikes (system_id, vehicle_type_id) where vehicle_type_id is not null;

-- system. A ride. Not partitioned, because its id could then not be unique.
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
  -- Not part of the JSON, which is the same text for every partner: a reservation is visible to its owner alone, who
  -- finds the ride in the reservation's `ride_id`.
  reservation_id   text collate "C",
  updated_at       timestamptz(3) not null,
  source           text not null,
  -- The import that created the ride; null: it was created otherwise. Not indexed: an import knows when its rides started, and
  -- that has an index.
  import_id        text collate "C",
  json text not null generated always as (ride_json(
    id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds,
    distance_meters, vehicle_type_id, rider_category, end_reason, is_countable, updated_at)) stored,
  primary key (system_id, id),
  check (ended_at >= started_at),
  check ((status = 'started') = (ended_at is null))
)
-- PostgreSQL reads an index alone only where a vacuum has recorded that every transaction sees the rows: vacuumed after
-- 2 % of new rides instead of 20 %, the indexes below serve filtered lists also for recent rides.
with (autovacuum_vacuum_insert_scale_factor = 0.02);
-- A filtered list has no kept count: its rows are counted, and those before a page skipped. With these columns in the
-- index neither reads a row, at a fifth of the cost: a ride's row has 600 bytes, its index entry 75.
create index rides_started_at on rides (system_id, started_at, id) include (status, updated_at);
create index rides_bike on rides (system_id, bike_id, started_at, id);
create index rides_start_station on rides (system_id, start_station_id, started_at, id);
create index rides_end_station on rides (system_id, end_station_id, started_at, id) include (start_station_id);
create index rides_updated_at on rides (system_id, updated_at);
create index rides_unfinished on rides (system_id, status, started_at, id) where status <> 'completed';
create index rides_vehicle_type on rides (system_id, vehicle_type_id) where vehicle_type_id is not null;
-- The second guard of "one started ride per bike". The first is the lock on the bike's row.
create unique index rides_one_started_per_bike on rides (system_id, bike_id) where status = 'started';

-- system. A bike held for a partner's rider. For every reader `active` ends at `expires_at`, whether or not the sweeper has
-- written it: the JSON is made at reading, with the status as of now.
create table reservations (
  system_id       text collate "C" not null,
  id              text collate "C" not null,
  partner_id      text collate "C" not null,
  status          text not null check (status in ('active', 'fulfilled', 'cancelled', 'expired')),
  station_id      text collate "C",
  bike_id         text collate "C" not null,
  vehicle_type_id text collate "C",
  rider_ref       text collate "C" check (length(rider_ref) between 1 and 64),
  created_at      timestamptz(3) not null,
  expires_at      timestamptz(3) not null,
  cancelled_at    timestamptz(3),
  cancel_reason   text check (cancel_reason in ('partner', 'operator', 'bike_unavailable')),
  ride_id         text collate "C",
  updated_at      timestamptz(3) not null,
  primary key (system_id, id),
  check (expires_at > created_at),
  check ((status = 'cancelled') = (cancelled_at is not null)),
  check ((status = 'cancelled') = (cancel_reason is not null)),
  check ((status = 'fulfilled') = (ride_id is not null))
);
create index reservations_partner on reservations (system_id, partner_id, created_at, id) include (status, expires_at);
-- The second guards. The first is the lock on the bike's row.
create unique index reservations_one_active_per_bike on reservations (system_id, bike_id) where status = 'active';
create unique index reservations_one_active_per_rider on reservations (system_id, partner_id, rider_ref)
  where status = 'active' and rider_ref is not null;
create index reservations_expiry on reservations (system_id, expires_at, id) where status = 'active';
-- Counts a partner's active reservations before it makes another.
create index reservations_active on reservations (system_id, partner_id, expires_at) where status = 'active';
create index reservations_updated on reservations (system_id, partner_id, updated_at);
-- A bike's past, and a partner's list of one bike.
create index reservations_bike on reservations (system_id, bike_id, created_at, id);
create index reservations_ride on reservations (system_id, ride_id) where ride_id is not null;

-- system. One row a partner, locked by whoever makes it a reservation, so that its active ones are counted by one transaction
-- at a time. A table of its own: the lock of a partner's row, in a reference table, is taken on every machine.
create table reservation_quotas (
  system_id  text collate "C" not null,
  partner_id text collate "C" not null,
  primary key (system_id, partner_id)
);
alter table reservation_quotas add foreign key (system_id, partner_id) references partners (system_id, id);

-- system. How many items each list has: the sum of its slots. Several slots, so that writers do not queue.
create table list_counts (
  system_id text collate "C" not null,
  list      text collate "C" not null check (list in ('stations', 'bikes', 'rides')),
  slot      smallint not null,
  n         bigint not null,
  -- How often rides came, went or were corrected that had started more than two days before. While the sum stands still,
  -- what was counted of rides that had ended by then still holds: it is neither counted nor stepped over again.
  past_changes bigint not null default 0,
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
