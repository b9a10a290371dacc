-- oldest program: 0.1.0
-- What sources say of the system, its stations and its vehicles beyond the columns: docs/decisions/gbfs-import.md.

-- step: transaction
alter table stations
  -- GBFS's optional fields without a column of their own, as GBFS 3.1 writes them. json, not jsonb: compared as text.
  add column source_facts json,
  -- free docks, by the types of vehicles that fit them
  add column vehicle_docks_available json;

-- step: transaction
alter table bikes add column source_facts json;

-- step: transaction
-- system. A source's descriptions of its system: the newest document of each feed, whole, as GBFS 3.1 writes it. Beside
-- gbfs_descriptions, which the program of the release before uses.
create table gbfs_documents (
  system_id text collate "C" not null,
  source    text collate "C" not null,
  feed      text collate "C" not null,
  -- the document's `last_updated`
  as_of     timestamptz(3) not null,
  -- of the content, so that one that has not changed need not be sent
  digest    text not null,
  content   json not null,
  primary key (system_id, source, feed)
);
