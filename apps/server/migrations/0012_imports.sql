-- What was imported when, and which rides and stations came with it, so that an import can be listed and taken back.

-- system. The imports of files and feeds that wrote something, or found all of it there.
create table imports (
  system_id  text collate "C" not null,
  id         text collate "C" not null,
  kind       text not null check (kind in ('trips', 'gbfs')),
  -- the source's name
  source     text not null,
  -- when it began: `updated_at` of every row that it wrote
  at         timestamptz(3) not null,
  -- running: under way, or cut off; undoing: being taken back, or that was cut off
  status     text not null check (status in ('running', 'done', 'undoing', 'undone')),
  -- rides (of trips), or stations and bikes (of a feed)
  created    bigint not null default 0,
  -- of a feed: what was there before and was changed or removed
  updated    bigint not null default 0,
  unchanged  bigint not null default 0,
  rejected   bigint not null default 0,
  -- of trips: stubs of stations that nobody knew; of a feed: the stations among `created`
  stations_created bigint not null default 0,
  -- of trips: the starts of the first and the last ride that it made
  first_at   timestamptz(3),
  last_at    timestamptz(3),
  -- where the report was written
  report     text,
  -- what it was given: files or address, time zone
  detail     jsonb not null,
  undone_at  timestamptz(3),
  primary key (system_id, id),
  check ((status = 'undone') = (undone_at is not null))
);
create index imports_at on imports (system_id, at, id);

-- system. An import of trips found rides of an earlier one, the same: the earlier one must not be taken back before it.
create table import_overlaps (
  system_id  text collate "C" not null,
  earlier_id text collate "C" not null,
  import_id  text collate "C" not null,
  primary key (system_id, earlier_id, import_id)
);

-- The import that made the ride, or the stub of the station; null: something else did. Not indexed: a ride's import
-- knows when its rides started, which has an index.
alter table rides add column import_id text collate "C";
alter table stations add column import_id text collate "C";
