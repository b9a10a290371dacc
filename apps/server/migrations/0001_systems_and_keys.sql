-- Reference tables: small and rarely written. A database spread over several machines keeps a full copy on each.
-- No foreign key leads from a reference table to a system table (stations, rides, …).

-- reference. One bike-share system (system_id of GBFS): one city's bikes, with its own partners and keys.
create table systems (
  system_id          text collate "C" not null,
  name               text not null,
  created_at         timestamptz(3) not null,
  -- Set by the operator, for GBFS. Null: the value of a source's feed is used, else a default.
  timezone           text,
  language           text,
  feed_contact_email text,
  opening_hours      text,
  operator           text,
  url                text,
  -- an SPDX identifier or an address
  licence            text,
  primary key (system_id)
);

-- reference. A company that reads one system's data.
create table partners (
  system_id        text collate "C" not null,
  id               text collate "C" not null,
  name             text not null,
  created_at       timestamptz(3) not null,
  -- how many active reservations it may have at once; null: the service's default
  max_reservations integer check (max_reservations > 0),
  -- suspended: keys are refused and deliveries held until the partner is resumed
  suspended_at     timestamptz(3),
  -- removed: suspended for good. The row stays, because logs and reservations refer to it.
  removed_at       timestamptz(3),
  primary key (system_id, id)
);
alter table partners add foreign key (system_id) references systems (system_id);

-- reference. An API key. The key itself is shown once; only its hash is stored.
create table keys (
  system_id      text collate "C" not null,
  id             text collate "C" not null,
  -- null: an operator key
  partner_id     text collate "C",
  name           text,
  -- SHA-256 of the whole key
  hash           bytea not null check (octet_length(hash) = 32),
  last4          text not null check (length(last4) = 4),
  scopes         text[] not null,
  -- requests in any 60 s; null: the deployment's default
  rate_limit     integer check (rate_limit > 0),
  created_at     timestamptz(3) not null,
  expires_at     timestamptz(3),
  revoked_at     timestamptz(3),
  -- the key that replaces this one
  rotated_to     text collate "C",
  -- when the key was seen where others may have read it: in a query string, or over plain HTTP
  compromised_at timestamptz(3),
  last_used_at   timestamptz(3),
  last_used_path text,
  last_used_address text,
  primary key (system_id, id)
);
alter table keys add foreign key (system_id) references systems (system_id);
alter table keys add foreign key (system_id, partner_id) references partners (system_id, id);
-- A request carries only its key, so this look-up alone cannot name a system.
create index keys_hash on keys (hash);
create index keys_partner on keys (system_id, partner_id);

-- reference. A vehicle type, as the operator describes it. Null: the value of a source's feed is used.
create table vehicle_types (
  system_id        text collate "C" not null,
  id               text collate "C" not null check (length(id) between 1 and 255),
  name             text,
  form_factor      text check (form_factor in
    ('bicycle', 'cargo_bicycle', 'car', 'moped', 'scooter_standing', 'scooter_seated', 'other')),
  propulsion_type  text check (propulsion_type in ('human', 'electric_assist', 'electric', 'combustion',
    'combustion_diesel', 'hybrid', 'plug_in_hybrid', 'hydrogen_fuel_cell')),
  max_range_meters double precision check (max_range_meters >= 0),
  primary key (system_id, id)
);
alter table vehicle_types add foreign key (system_id) references systems (system_id);

-- reference. A region, as the operator names it.
create table regions (
  system_id text collate "C" not null,
  id        text collate "C" not null check (length(id) between 1 and 255),
  name      text not null,
  primary key (system_id, id)
);
alter table regions add foreign key (system_id) references systems (system_id);

-- system. Every change to systems, partners, keys and webhooks, by month (UTC), for a year.
create table audit_log (
  system_id text collate "C" not null,
  id        text collate "C" not null,
  at        timestamptz(3) not null,
  logged_on date not null,
  -- who acted: `cli`, an operator's or partner's sign-in, or `server`
  actor     text collate "C" not null,
  -- what was done: `key.issued`, `key.revoked`, …
  action    text collate "C" not null,
  -- what it was done to: a partner's or key's id
  subject   text collate "C" not null,
  -- the partner whose subject it is, who may read of it; null: the operator's alone
  partner_id text collate "C",
  detail    jsonb not null,
  primary key (system_id, logged_on, id)
) partition by range (logged_on);
create index audit_log_at on audit_log (system_id, at, id);
-- Each filter finds its acts in their order, however few they are among many.
create index audit_log_actor on audit_log (system_id, actor, at, id);
create index audit_log_action on audit_log (system_id, action, at, id);
create index audit_log_subject on audit_log (system_id, subject, at, id);
create index audit_log_partner on audit_log (system_id, partner_id, at, id) where partner_id is not null;
-- Whoever runs the service can add to the audit log and read it, and nothing else. The owner of a table can grant itself
-- these rights again: docs/commands.md says how to withhold the table from the service's role as well.
revoke update, delete, truncate on audit_log from current_user;
-- system. For a month without a partition of its own: a missing partition must fail no act. What is past is deleted from it.
create table audit_log_default partition of audit_log default;
revoke update, truncate on audit_log_default from current_user;

-- system. One row a system, made with it and never changed. An `insert … select` of many rows reads them beside it: from it
-- a distributed database learns that all are written where the system lies.
create table placed_systems (
  system_id text collate "C" not null,
  primary key (system_id)
);

-- system. Units of background work, such as an overdue reservation, that fail or have ended their process: each is tried
-- by itself from then on (docs/decisions/background-work.md). Nearly always empty.
create table work_failures (
  system_id text collate "C" not null,
  work      text collate "C" not null,
  -- its id: of a reservation, a station, an event, a source, a mail
  unit      text collate "C" not null,
  -- tries in a row that failed
  failures  smallint not null default 0,
  -- tries in a row that ended their process, or never ended
  crashes   smallint not null default 0,
  message   text not null,
  began_at  timestamptz(3) not null default now(),
  -- when it is tried again; null: it is set aside, and not tried until it is released
  due_at    timestamptz,
  primary key (system_id, work, unit)
);

-- system. What processes work on at this moment. A row that is left behind says what a process was doing when it ended.
create table work_runs (
  system_id text collate "C" not null,
  work      text collate "C" not null,
  run       text collate "C" not null default gen_random_uuid()::text,
  units     text[] not null,
  -- by then the run has ended, or its process has
  ends_by   timestamptz not null,
  primary key (system_id, work, run)
)
-- A row lives for some milliseconds: vacuumed often, the table stays small.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- reference. The running processes that answer requests, which divide the rate limits while no store counts for all of them.
create table api_processes (
  process     text collate "C" not null,
  alive_until timestamptz(3) not null,
  primary key (process)
) with (fillfactor = 50);

-- reference. One row: what a process wrote when it last connected to the primary. A server on which the same is read
-- has replayed what this primary has written, rather than what another has.
create table replication_tokens (
  id    int not null check (id = 1),
  token text collate "C" not null,
  primary key (id)
);

-- reference. The running processes and the keys of the secrets file that each has read, by fingerprint, so that no key is
-- used before every process can decrypt with it.
create table key_holders (
  process     text collate "C" not null,
  host        text not null,
  -- those that it can decrypt with
  keys        text[] not null,
  -- those that it encrypts with
  current_keys text[] not null,
  alive_until timestamptz(3) not null,
  primary key (process)
) with (fillfactor = 50);
