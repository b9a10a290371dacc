-- How followed feeds do, and whose they are. The rules are in docs/decisions/gbfs-import.md.
-- Additive, with no work on existing rows.

-- system. What follows is of one system each.
-- One row for each feed of a source that is followed: any process may say how old the data are.
create table gbfs_feed_health (
  system_id text collate "C" not null,
  source text collate "C" not null,
  feed text collate "C" not null,
  looked_at timestamptz not null,
  -- Got and read whole, changed or not. Null: never yet.
  good_at timestamptz,
  -- Null: well.
  failing_since timestamptz,
  failures integer not null default 0,
  message text,
  primary key (system_id, source, feed)
);

-- What a source called its system (GBFS's system_id) when it was applied. Null: it has never said.
alter table gbfs_sources add column published_id text collate "C";
