-- oldest program: 0.1.0
-- Sums over time, which are kept and never counted on request: docs/decisions/history.md#sums.

-- step: transaction
-- system. A station's hour (UTC). What is zero in all is left out.
create table station_hours (
  system_id       text collate "C" not null,
  station_id      text collate "C" not null,
  hour            timestamptz(0) not null,
  -- by the start and the end of the ride; cancelled ones left out
  rides_started   integer not null,
  rides_ended     integer not null,
  -- for how long its state is known and it was online; how long of that it had no bike, or no free dock; and how long offline
  seconds_online  integer not null,
  seconds_empty   integer not null,
  seconds_full    integer not null,
  seconds_offline integer not null,
  -- bikes times seconds online
  bike_seconds    bigint not null,
  -- bikes and free docks at the beginning of each quarter; null: offline, not known or yet to come
  bikes           smallint[] not null,
  docks           smallint[] not null,
  primary key (system_id, station_id, hour)
);
create index station_hours_hour on station_hours (system_id, hour);

-- system. Completed rides between two stations, by the day (of the system's time zone) on which they started.
create table flow_days (
  system_id        text collate "C" not null,
  start_station_id text collate "C" not null,
  end_station_id   text collate "C" not null,
  day              date not null,
  rides            integer not null,
  primary key (system_id, start_station_id, end_station_id, day) include (rides)
);
create index flow_days_in on flow_days (system_id, end_station_id, day, start_station_id) include (rides);
create index flow_days_day on flow_days (system_id, day);

-- system. Rides of the whole system by the quarter of an hour; those without a row had none.
create table ride_quarters (
  system_id     text collate "C" not null,
  starts_at     timestamptz(0) not null,
  rides_started integer not null,
  rides_ended   integer not null,
  primary key (system_id, starts_at)
);

-- system. The fleet and the stations every five minutes. Null: nothing is known of that.
create table fleet_samples (
  system_id text collate "C" not null,
  at        timestamptz(0) not null,
  available integer,
  reserved  integer,
  on_trip   integer,
  disabled  integer,
  missing   integer,
  online    integer not null,
  empty     integer not null,
  "full"    integer not null,
  offline   integer not null,
  -- taken at that time, rather than made of the changes of stations later
  is_live   boolean not null,
  primary key (system_id, at)
);

-- system. How far summing has come.
create table sum_progress (
  system_id     text collate "C" not null,
  -- the change position up to which rides have been read
  position      bigint not null,
  -- the first hour that is summed
  summed_from   timestamptz(0) not null,
  -- the hours before it have been summed, or are marked
  next_hour     timestamptz(0) not null,
  -- the time up to which the current hour is summed; null: nothing is yet
  summed_to     timestamptz(3),
  -- the time up to which flows are summed
  flows_to      timestamptz(3),
  -- the zone in which flows have their days
  time_zone     text not null,
  primary key (system_id)
);

-- system. An hour that must be summed again. Several rows may name the same one: whoever writes one waits for nobody.
create table sum_marks (
  system_id text collate "C" not null,
  hour      timestamptz(0) not null,
  id        text collate "C" not null default gen_random_uuid()::text,
  -- whether flows have changed too
  of_flows  boolean not null,
  -- whether all hours after it must be as well: a station stays as it is until its next change
  and_after boolean not null default false,
  primary key (system_id, hour, id)
);

-- system. A day whose flows must be summed again.
create table flow_marks (
  system_id text collate "C" not null,
  day       date not null,
  due_at    timestamptz(3) not null,
  primary key (system_id, day)
);

-- Finds the rides that ended in an hour, whenever they started.
-- step: autocommit
create index concurrently rides_ended_at on rides (system_id, ended_at, status) where ended_at is not null;
