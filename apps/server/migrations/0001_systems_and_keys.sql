-- Reference tables: small, rarely written. Where several machines share the work, each holds a whole copy.
-- No foreign key leads from here to a system table (stations, rides, …).

-- reference. One bike-share system (GBFS's system_id): one city's bikes, with its own partners and keys.
create table systems (
  system_id  text collate "C" not null,
  name       text not null,
  created_at timestamptz(3) not null,
  primary key (system_id)
);

-- reference. A company that reads one system's data.
create table partners (
  system_id  text collate "C" not null,
  id         text collate "C" not null,
  name       text not null,
  created_at timestamptz(3) not null,
  primary key (system_id, id)
);

-- reference. An API key: what we keep of it. The key itself is shown once and never stored.
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
  -- the key that took this one's place
  rotated_to     text collate "C",
  -- the key was seen where others may have read it: in a query string, or over plain HTTP
  exposed_at     timestamptz(3),
  last_used_at   timestamptz(3),
  last_used_path text,
  last_used_address text,
  primary key (system_id, id)
);
alter table keys add foreign key (system_id) references systems (system_id);
alter table keys add foreign key (system_id, partner_id) references partners (system_id, id);
alter table partners add foreign key (system_id) references systems (system_id);
-- A request brings only its key, so this look-up is the one statement that cannot name a system.
create index keys_hash on keys (hash);
create index keys_partner on keys (system_id, partner_id);

-- reference. Who did what to partners and keys.
create table audit_log (
  system_id text collate "C" not null,
  id        text collate "C" not null,
  at        timestamptz(3) not null,
  -- who acted: `cli`, an operator's or partner's sign-in, or `server`
  actor     text not null,
  -- what was done: `key.issued`, `key.revoked`, …
  action    text not null,
  -- what it was done to: a partner's or key's id
  subject   text not null,
  detail    jsonb not null,
  primary key (system_id, id)
);
create index audit_log_at on audit_log (system_id, at, id);
