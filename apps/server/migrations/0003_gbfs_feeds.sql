-- What is kept of GBFS feeds beside the stations and bikes themselves. The rule that these columns serve is in
-- docs/decisions/gbfs-import.md: of each half of a station, the newest snapshot that names it wins.

-- system. How far each feed of a source has been applied (its `last_updated`). A null: that feed never came.
-- The row's lock lets one snapshot of a source be applied at a time.
create table gbfs_sources (
  system_id      text collate "C" not null,
  source         text collate "C" not null,
  information_at timestamptz(3),
  readings_at    timestamptz(3),
  -- the snapshot before `readings_at`: being absent from both is being absent twice in a row
  readings_before timestamptz(3),
  vehicles_at    timestamptz(3),
  primary key (system_id, source)
);

-- system. Halves of stations whose other half has not come: a `station_information` or a `station_status` record.
create table gbfs_waiting_halves (
  system_id  text collate "C" not null,
  source     text collate "C" not null,
  station_id text collate "C" not null,
  half       text collate "C" not null check (half in ('information', 'readings')),
  -- the snapshot it came with; null: the newest one of its feed
  as_of      timestamptz(3),
  content    jsonb not null,
  primary key (system_id, source, station_id, half)
);

-- The snapshot that last named this half of the station; null: the newest one of its feed, so that a snapshot
-- in which nothing changed writes no row.
alter table stations add column information_as_of timestamptz(3);
alter table stations add column readings_as_of timestamptz(3);
-- Some snapshot said `is_installed`: what tells a station that is gone from one that is still to come.
alter table stations add column was_installed boolean not null default false;
