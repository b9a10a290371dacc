-- What happened, in the order in which partners read it, and the responses to requests that may be repeated.

-- system. Events as they are written, in the transaction of the change itself, without a position in the list.
create table event_outbox (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  name        text collate "C" not null,
  occurred_at timestamptz(3) not null,
  -- null: every partner may see it
  partner_id  text collate "C",
  -- the resource's JSON at that time
  data        text not null,
  primary key (system_id, id)
)
-- A row lives for some milliseconds: vacuumed often, the table stays small.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- system. The events list. The sequencer moves committed events here and gives each the next position, so that whoever has
-- read up to a position has missed nothing before it. One partition a day, dropped whole after the retention time.
create table events (
  system_id   text collate "C" not null,
  recorded_on date not null,
  position    bigint not null,
  id          text collate "C" not null,
  name        text collate "C" not null,
  occurred_at timestamptz(3) not null,
  partner_id  text collate "C",
  data        text not null,
  primary key (system_id, recorded_on, position)
) partition by range (recorded_on);
create index events_id on events (system_id, id);
-- The events of one name that one partner may see: reading a sparse list skips nothing else.
create index events_visible on events (system_id, (coalesce(partner_id, '')), name, position);

-- system. The last position given. The row's lock lets one sequencer number a system's events at a time.
create table event_sequences (
  system_id     text collate "C" not null,
  last_position bigint not null,
  primary key (system_id)
);

-- system. How many events of each name each day has, for all partners ('') and for one: what makes totals cheap.
create table event_counts (
  system_id   text collate "C" not null,
  recorded_on date not null,
  name        text collate "C" not null,
  partner_id  text collate "C" not null,
  n           bigint not null,
  primary key (system_id, recorded_on, name, partner_id)
);

-- system. The response to a request with an Idempotency-Key, kept for 24 h, written in the transaction of its effect.
create table idempotency_keys (
  system_id  text collate "C" not null,
  -- the partner's id, or `operator`
  caller     text collate "C" not null,
  path       text collate "C" not null,
  key        text collate "C" not null,
  body_hash  bytea not null,
  status     smallint,
  body       text,
  created_at timestamptz(3) not null,
  primary key (system_id, caller, path, key)
);
create index idempotency_keys_age on idempotency_keys (system_id, created_at);
