-- oldest program: 0.1.0
-- Trip files that people import in the browser: docs/decisions/gbfs-import.md.

-- step: transaction
-- system. A file on its way into an import: sent, tried, imported.
create table trip_uploads (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  file_name   text not null,
  -- IANA; the zone of the file's local times
  time_zone   text not null,
  state       text not null check (state in ('receiving', 'waiting', 'running', 'tried', 'done', 'failed')),
  -- what is to be done with it, is being done or was done last
  step        text not null check (step in ('trial', 'import')),
  -- bytes that have come
  bytes       bigint not null default 0,
  asked_at    timestamptz(3) not null,
  -- who began the step
  asked_by    text not null,
  -- when somebody last sent or asked for something, by the database's clock
  changed_at  timestamptz(3) not null default now(),
  -- how often a process has begun the step
  attempts    smallint not null default 0,
  -- when the process that does it last said so
  seen_at     timestamptz(3),
  share       double precision not null default 0,
  rows_done   bigint not null default 0,
  -- the import that the last attempt made, even if it was cut off
  import_id   text collate "C",
  -- the result of the step
  result      jsonb,
  -- why it came to no result, for people
  problem     text,
  primary key (system_id, id)
);
-- One at a time.
create unique index trip_uploads_open on trip_uploads (system_id) where state in ('receiving', 'waiting', 'running', 'tried');

-- step: transaction
-- system. The bytes of an upload, which every process can read, on whatever machine it runs.
create table trip_upload_parts (
  system_id text collate "C" not null,
  upload_id text collate "C" not null,
  -- the place of its first byte
  start     bigint not null,
  content   bytea not null,
  primary key (system_id, upload_id, start)
);
