-- oldest program: 0.1.0
-- Facts that agencies alone read, and the days of their reports: docs/decisions/mds.md.

-- step: transaction
alter table bikes
  add column battery_percent     smallint,
  add column reported_battery_at timestamptz(3),
  -- why the bike is in its reported state, in MDS's words; null: nobody has told
  add column reported_reason     text collate "C";
alter table vehicle_events
  add column battery_percent smallint;
alter table rides
  -- in the smallest unit of the currency
  add column standard_cost integer,
  add column actual_cost   integer,
  add column currency      text collate "C",
  -- a group of riders that reports count by itself
  add column special_group text collate "C";
-- system. Trips of a local day by group of riders and shape of vehicle, for monthly reports: a copy of rides.
create table mds_trip_days (
  system_id   text collate "C" not null,
  -- IANA; the zone of the day
  time_zone   text collate "C" not null,
  day         date not null,
  -- the state of the rides when they were counted: another means that they changed
  version     text not null,
  counts      json not null,
  primary key (system_id, time_zone, day)
);
