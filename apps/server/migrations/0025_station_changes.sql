-- oldest program: 0.1.0
-- How stations were: docs/decisions/history.md.

-- step: transaction
-- system. The counters and the status of a station from an instant on, until its next row. One row for each change, and one
-- at the beginning of each month (UTC), so that a read looks into one partition.
create table station_changes (
  system_id      text collate "C" not null,
  station_id     text collate "C" not null,
  at             timestamptz(3) not null,
  -- the day of `at` in UTC
  changed_on     date not null,
  -- num_bikes_available, num_bikes_reserved, num_bikes_disabled, num_docks_available and num_docks_disabled
  bikes          integer not null,
  reserved       integer not null,
  disabled       integer,
  docks          integer,
  docks_disabled integer,
  -- status, offline_reason and the flags of GBFS: city/history/changes-sql-fragments.ts
  flags          smallint not null,
  -- vehicle_types_available as types and counts in turn: ["bike",7,"ebike",2]
  by_type        text not null,
  primary key (system_id, station_id, at, changed_on) include (bikes, docks, flags)
) partition by range (changed_on);
-- system. For a month without a partition of its own.
create table station_changes_default partition of station_changes default;

-- step: transaction
alter table stations
  -- the instant of the newest change in station_changes; -infinity: there is none, the row is as it was at `known_since`
  add column state_since timestamptz(3) not null default '-infinity',
  -- the instant at which its history begins
  add column known_since timestamptz(3) not null default now();
