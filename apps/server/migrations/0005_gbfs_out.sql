-- What our own GBFS feeds say beyond stations and bikes. The rules are in docs/decisions/gbfs-out.md.

-- The operator's word on the system; null: what a source's feed says stands in, else a default.
alter table systems add column timezone text;
alter table systems add column language text;
alter table systems add column feed_contact_email text;
alter table systems add column opening_hours text;

-- system. What a source says of its system as a whole: the newest document of each feed, as far as we use it.
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
-- The row's lock lets one publication be made at a time, so that none goes out that is older than the one before.
create table gbfs_publications (
  system_id    text collate "C" not null,
  version      text collate "C" not null,
  feed         text collate "C" not null,
  digest       bytea not null,
  last_updated timestamptz(0) not null,
  -- another content went out in this very second: If-Modified-Since cannot tell the two apart
  shares_second boolean not null,
  primary key (system_id, version, feed)
);
