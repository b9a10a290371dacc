-- oldest program: 0.1.0
-- Files of open data: docs/decisions/open-data.md. The files themselves lie in a directory.

-- step: transaction
-- system. A file that is there, is being made, is to be made, or could not be made.
create table exports (
  system_id       text collate "C" not null,
  id              text collate "C" not null,
  kind            text collate "C" not null check (kind in ('rides', 'stations', 'station_status')),
  -- of the system's time zone, such as 2026-10; null: the kind is of no month
  month           text collate "C" check (month ~ '^\d{4}-\d{2}$'),
  format          text not null check (format in ('csv', 'parquet')),
  -- null: the kind tells of no rides
  privacy         text check (privacy in ('coarse', 'stations', 'full')),
  -- whether partners with the scope may have it
  is_shared       boolean not null,
  state           text not null check (state in ('waiting', 'running', 'ready', 'failed')),
  requested_at    timestamptz(3) not null,
  requested_by    text not null,
  -- the schedule that asked for it, and the month for which it did; null: a person asked
  schedule_id     text collate "C",
  scheduled_month text collate "C",
  -- how often a process has begun it; the file's name has the number
  attempts        smallint not null default 0,
  -- when the process that makes it last said so
  seen_at         timestamptz(3),
  rows_done       bigint not null default 0,
  -- why it could not be made, for people
  problem         text,
  finished_at     timestamptz(3),
  -- what the finished file is, as the contract has it
  facts           jsonb,
  primary key (system_id, id),
  check ((state = 'ready') = (facts is not null)),
  check ((state in ('ready', 'failed')) = (finished_at is not null))
);
create index exports_open on exports (system_id, requested_at) where state in ('waiting', 'running');
-- A schedule asks for each month once, however many processes look.
create unique index exports_scheduled on exports (system_id, schedule_id, scheduled_month) where schedule_id is not null;

-- step: transaction
-- system. What is made of each month by itself, once the month is over and settled.
create table export_schedules (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  kind        text collate "C" not null check (kind in ('rides', 'stations', 'station_status')),
  format      text not null check (format in ('csv', 'parquet')),
  privacy     text check (privacy in ('coarse', 'stations', 'full')),
  is_shared   boolean not null,
  keep_months smallint not null check (keep_months between 1 and 600),
  created_at  timestamptz(3) not null,
  created_by  text not null,
  primary key (system_id, id)
);
