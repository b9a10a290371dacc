-- oldest program: 0.1.0
-- What cities read by the Mobility Data Specification: docs/decisions/mds.md.

-- step: transaction
-- system. Systems whose vehicle events are logged: since the first agency of the system was created.
create table mds_providers (
  system_id    text collate "C" not null,
  -- as the operator is registered with MDS
  provider_id  uuid not null,
  -- a secret, from which the ids of devices, trips and stops follow (UUID version 5)
  namespace    uuid not null,
  logged_since timestamptz(3) not null,
  primary key (system_id)
);
-- reference. A partner that is an agency: its keys read MDS and nothing else.
create table agencies (
  system_id  text collate "C" not null,
  partner_id text collate "C" not null,
  -- as MDS names it
  agency_id  uuid not null,
  primary key (system_id, partner_id)
);
alter table agencies add foreign key (system_id, partner_id) references partners (system_id, id);
-- system. Each change of the state of a vehicle, in MDS's words, in the order of time of each vehicle.
create table vehicle_events (
  system_id     text collate "C" not null,
  -- the day of `at` in UTC
  happened_on   date not null,
  at            timestamptz(3) not null,
  id            uuid not null,
  bike_id       text collate "C" not null,
  vehicle_state text collate "C" not null,
  event_type    text collate "C" not null,
  -- the ride of a trip_start, trip_end or trip_cancel
  ride_id       text collate "C",
  station_id    text collate "C",
  lat           double precision,
  lon           double precision,
  recorded_at   timestamptz(3) not null,
  primary key (system_id, at, id, happened_on)
) partition by range (happened_on);
-- system. For a day without a partition of its own.
create table vehicle_events_default partition of vehicle_events default;
alter table bikes
  -- the bike's newest row of vehicle_events, as JSON; null: its events are not logged
  add column last_event text;
