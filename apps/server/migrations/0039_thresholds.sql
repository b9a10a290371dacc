-- oldest program: 0.1.0
-- Endpoints that are told when stations run low, and of so much in an hour at most: docs/decisions/webhooks.md. A program
-- of 0.1.0 that runs meanwhile watches nothing, and sends without a limit.

-- step: transaction
alter table webhook_endpoints
  -- deliveries of new events in an hour (UTC), at most; null: all
  add column max_per_hour integer;

-- step: transaction
alter table webhook_lanes
  -- the end of the hour that is counted, by the database's clock; null: none was
  add column hour_ends_at timestamptz(3),
  -- deliveries of new events that were let through in it, and those that were not
  add column hour_sent    integer not null default 0,
  add column hour_skipped integer not null default 0;

-- step: transaction
alter table webhook_queue
  -- of a new event for an endpoint with max_per_hour, and not let through yet
  add column is_uncounted boolean not null default false;

-- step: autocommit
create index concurrently webhook_queue_uncounted on webhook_queue (system_id, endpoint_id, due_at, delivery_id)
  where is_uncounted;

-- step: transaction
-- system. When an endpoint is told of stations that have too few bikes or docks.
create table webhook_thresholds (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- its place in the endpoint's list
  position    smallint not null,
  count_of     text not null check (count_of in ('bikes', 'docks')),
  fewer_than  integer not null check (fewer_than > 0),
  for_minutes integer not null check (for_minutes > 0),
  -- any of these; both null: all stations
  station_ids text[],
  region_ids  text[],
  -- since when stations are watched for it; null: not yet, or its partner is suspended
  since       timestamptz(3),
  primary key (system_id, id)
);
create index webhook_thresholds_endpoint on webhook_thresholds (system_id, endpoint_id, position);

-- system. Stations that are below a threshold. No foreign keys: whoever deletes a station waits for nobody.
create table webhook_threshold_states (
  system_id    text collate "C" not null,
  threshold_id text collate "C" not null,
  station_id   text collate "C" not null,
  below_since  timestamptz(3) not null,
  -- when the endpoint is told, if it is below until then; null: it has been told
  due_at       timestamptz(3),
  primary key (system_id, threshold_id, station_id)
) with (fillfactor = 70);
create index webhook_threshold_states_station on webhook_threshold_states (system_id, station_id);
create index webhook_threshold_states_due on webhook_threshold_states (system_id, due_at) where due_at is not null;

-- system. Up to which of its changes each station has been compared with thresholds, while there are any. Its lock lets one
-- process do it at a time.
create table webhook_threshold_stations (
  system_id  text collate "C" not null,
  station_id text collate "C" not null,
  -- the station's state_since, counters and status of then, and its region; -infinity and null: never changed
  seen_at    timestamptz(3) not null,
  seen       text not null,
  primary key (system_id, station_id)
) with (fillfactor = 50);
