-- GBFS feeds, beside the stations and bikes themselves, and the imports. For each part of a station the newest snapshot
-- that lists it wins: docs/decisions/gbfs-import.md. Publishing: docs/decisions/gbfs-out.md.

-- system. How far each feed of a source has been applied (its `last_updated`). Null: never.
-- The row's lock lets one snapshot of a source be applied at a time.
create table gbfs_sources (
  system_id      text collate "C" not null,
  source         text collate "C" not null,
  information_at timestamptz(3),
  status_at      timestamptz(3),
  -- the snapshot before `status_at`: a station absent from both is absent twice in a row
  previous_status_at timestamptz(3),
  vehicles_at    timestamptz(3),
  -- the `system_id` of the source's newest `system_information`; null: never given
  published_id   text collate "C",
  primary key (system_id, source)
);

-- system. Parts of stations that wait for the other part: a record of `station_information` or of `station_status`.
create table gbfs_pending_station_parts (
  system_id  text collate "C" not null,
  source     text collate "C" not null,
  station_id text collate "C" not null,
  part       text collate "C" not null check (part in ('information', 'status')),
  -- the snapshot it came with; null: the newest one of its feed
  as_of      timestamptz(3),
  content    jsonb not null,
  primary key (system_id, source, station_id, part)
);

-- system. How each feed of a followed source is doing, so that any process can say how old the data are.
create table gbfs_feed_health (
  system_id text collate "C" not null,
  source text collate "C" not null,
  feed text collate "C" not null,
  checked_at timestamptz not null,
  -- fetched and read whole, changed or not; null: never yet
  succeeded_at timestamptz,
  -- null: it is not failing
  failing_since timestamptz,
  failures integer not null default 0,
  message text,
  primary key (system_id, source, feed)
);

-- system. How a followed source as a whole is doing.
create table gbfs_source_health (
  system_id     text collate "C" not null,
  source        text collate "C" not null,
  -- the address of its gbfs.json, without a query, which may hold a key
  location      text not null,
  interval_ms   integer not null,
  polled_at     timestamptz not null,
  -- since when nothing that was fetched can be applied, and why; null: it can
  failing_since timestamptz,
  message       text,
  primary key (system_id, source)
);

-- system. A source's descriptions of its system: the used content of the newest document of each feed.
create table gbfs_descriptions (
  system_id text collate "C" not null,
  source    text collate "C" not null,
  feed      text collate "C" not null check (feed in ('system_information', 'vehicle_types', 'system_regions')),
  -- the document's `last_updated`
  as_of     timestamptz(3) not null,
  content   jsonb not null,
  primary key (system_id, source, feed)
);

-- system. What was last published of each feed: `last_updated` stays while the content does, in every process.
-- The row's lock lets one publication be made at a time, so that an older one never follows a newer one.
create table gbfs_publications (
  system_id    text collate "C" not null,
  version      text collate "C" not null,
  feed         text collate "C" not null,
  digest       bytea not null,
  last_updated timestamptz(0) not null,
  -- another content was published in the same second, so that If-Modified-Since cannot distinguish the two
  shares_second boolean not null,
  primary key (system_id, version, feed)
);

-- system. The imports of files and feeds that wrote something, or found everything stored already.
create table imports (
  system_id  text collate "C" not null,
  id         text collate "C" not null,
  kind       text not null check (kind in ('trips', 'gbfs')),
  -- the source's name
  source     text not null,
  -- when it began: `updated_at` of every row that it wrote
  at         timestamptz(3) not null,
  -- running, undoing: not finished, or interrupted
  status     text not null check (status in ('running', 'done', 'undoing', 'undone')),
  -- rides (of trips), or stations and bikes (of a feed)
  created    bigint not null default 0,
  -- of a feed: stations and bikes that existed before and were changed or removed
  updated    bigint not null default 0,
  unchanged  bigint not null default 0,
  rejected   bigint not null default 0,
  -- of trips: placeholder stations; of a feed: the stations among `created`
  stations_created bigint not null default 0,
  -- of trips: the starts of the first and the last ride that it created
  first_at   timestamptz(3),
  last_at    timestamptz(3),
  -- the report's file, on the machine that the import ran on
  report     text,
  -- of trips: rides that undoing it has removed so far
  removed    bigint not null default 0,
  -- its arguments: files or address, time zone
  detail     jsonb not null,
  undone_at  timestamptz(3),
  primary key (system_id, id),
  check ((status = 'undone') = (undone_at is not null))
);
create index imports_at on imports (system_id, at, id);

-- system. The imports that run, also in the command line, and how far they are. Each rewrites its row every few seconds and
-- deletes it at its end; one that was killed leaves it.
create table running_imports (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  kind        text not null check (kind in ('trips', 'gbfs', 'replay')),
  began_at    timestamptz(3) not null,
  alive_until timestamptz(3) not null,
  -- when it was last seen to be further than before
  progressed_at timestamptz(3) not null default now(),
  -- done of the whole, 0 to 1; null: how much it is will be known at its end
  share       double precision,
  -- rows of files, records of feeds, or snapshots of a series
  rows_read   bigint not null,
  created     bigint not null,
  unchanged   bigint not null,
  rejected    bigint not null,
  primary key (system_id, id)
) with (fillfactor = 50);

-- system. What is worth reading of an import's report, for processes on other machines than its file.
create table import_reports (
  system_id     text collate "C" not null,
  import_id     text collate "C" not null,
  -- how often each reason occurred: {reason: number}
  reasons       jsonb not null,
  -- the first entries of the report
  first_entries jsonb not null,
  primary key (system_id, import_id)
);

-- system. An import of trips found the same rides of an earlier one, which must not be undone before it.
create table import_overlaps (
  system_id  text collate "C" not null,
  earlier_id text collate "C" not null,
  import_id  text collate "C" not null,
  primary key (system_id, earlier_id, import_id)
);
