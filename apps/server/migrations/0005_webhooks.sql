-- Webhooks: where deliveries go, what is due, what was tried. The rules are in docs/decisions/webhooks.md.

-- system. Where a partner's deliveries go: one address per partner.
create table webhook_endpoints (
  system_id    text collate "C" not null,
  id           text collate "C" not null,
  partner_id   text collate "C" not null,
  -- ends the id of every delivery to this endpoint, so that a statement can make those ids
  tag          text collate "C" not null check (tag ~ '^[0-9A-Za-z]{6}$'),
  url          text not null,
  events       text[] not null,
  -- the address for mails that deliveries fail
  email        text,
  -- what deliveries are signed with; both: the Standard Webhooks headers beside Service-Signature, which is always sent
  signature    text not null default 'service' check (signature in ('service', 'both')),
  -- probing: resumed, and not yet answered with success
  status       text not null check (status in ('active', 'probing', 'paused')),
  -- suspended: its partner is; resuming the partner resumes the endpoint.
  -- removed: paused for good, without events, address and secrets; the row stays, because the log refers to it.
  pause_reason text check (pause_reason in
    ('partner', 'operator', 'failing', 'gone', 'probe_failed', 'suspended', 'removed')),
  paused_at    timestamptz(3),
  created_at   timestamptz(3) not null,
  updated_at   timestamptz(3) not null,
  primary key (system_id, id),
  check ((status = 'paused') = (paused_at is not null)),
  check ((status = 'paused') = (pause_reason is not null)),
  check ((cardinality(events) = 0) = (pause_reason is not distinct from 'removed'))
);
create unique index webhook_endpoints_partner on webhook_endpoints (system_id, partner_id);
create unique index webhook_endpoints_tag on webhook_endpoints (system_id, tag);
alter table webhook_endpoints add foreign key (system_id, partner_id) references partners (system_id, id);

-- system. What an endpoint's deliveries are signed with: every secret that has not expired.
create table webhook_secrets (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- encrypted with a key of the secrets file, so that a copy of the database signs nothing
  encrypted   text not null,
  created_at  timestamptz(3) not null,
  -- null: the newest
  expires_at  timestamptz(3),
  primary key (system_id, id)
);
create index webhook_secrets_endpoint on webhook_secrets (system_id, endpoint_id, created_at);

-- reference. The fingerprint of the secrets file's key that encrypts a system's secrets, so that the first secret of all
-- is not encrypted with another file than the service's.
create table webhook_encryption_keys (
  system_id   text collate "C" not null,
  fingerprint text not null,
  recorded_at timestamptz(3) not null,
  primary key (system_id)
);

-- system. One lane an endpoint: who sends to it now, and how the endpoint has answered lately.
create table webhook_lanes (
  system_id         text collate "C" not null,
  endpoint_id       text collate "C" not null,
  worker            text collate "C",
  -- the fence token: grows with each holder of the lane; writes of an earlier one are refused
  token             bigint not null default 0,
  -- by the database's clock, so that workers need not agree on theirs
  leased_until      timestamptz(3),
  failing_since     timestamptz(3),
  failures          integer not null default 0,
  failed_deliveries text[] not null default '{}',
  -- when the last failure ended: a day later the failures no longer count
  last_failed_at    timestamptz(3),
  -- successive answers 410, and when the first of them ended: they pause the endpoint only if they go on for a while
  gone_answers      smallint not null default 0,
  gone_since        timestamptz(3),
  warned            smallint not null default 0,
  primary key (system_id, endpoint_id)
) with (fillfactor = 50);

-- system. The running worker processes, which share the lanes evenly.
create table webhook_workers (
  system_id   text collate "C" not null,
  worker      text collate "C" not null,
  alive_until timestamptz(3) not null,
  primary key (system_id, worker)
) with (fillfactor = 50);

-- system. The body of an event, once for all its deliveries.
create table webhook_bodies (
  system_id   text collate "C" not null,
  created_on  date not null,
  event_id    text collate "C" not null,
  event       text collate "C" not null,
  occurred_at timestamptz(3) not null,
  data        text not null,
  primary key (system_id, created_on, event_id)
) partition by range (created_on);
-- system. For a day without a partition of its own: a missing partition must not fail a ride.
create table webhook_bodies_default partition of webhook_bodies default;

-- system. One event for one endpoint, as its partner sees it.
--
-- A success writes status, attempts, latest_code and finished_at: no index has them, neither in its key nor in its
-- condition, so that it writes none (a heap-only update). What the log is searched by is either written once, when the
-- delivery is made, or stays null at a success; docs/decisions/console.md#delivery-log.
create table webhook_deliveries (
  system_id   text collate "C" not null,
  created_on  date not null,
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  event_id    text collate "C" not null,
  event       text collate "C" not null,
  -- the ride, station, reservation or bike that the event is about
  resource_id text collate "C",
  created_at  timestamptz(3) not null,
  status      text not null check (status in ('pending', 'succeeded', 'failed', 'held')),
  attempts    smallint not null default 0,
  -- the HTTP code of the latest attempt; null: none was made, or there was no whole response
  latest_code smallint,
  -- why the latest attempt failed: `http_4xx`, `http_5xx`, … for a response other than 2xx, otherwise the attempt's
  -- failure or `unknown`; null: none was made, or it succeeded
  latest_failure text collate "C",
  -- when its last schedule of attempts ended
  finished_at timestamptz(3),
  -- failing: to be tried again after a failed attempt
  problem     text collate "C" generated always as (case
    when status in ('failed', 'held') then status
    when status = 'pending' and latest_failure is not null then 'failing' end) stored,
  -- the same as latest_code, where the latest attempt failed
  failed_code smallint generated always as (case when latest_failure is not null then latest_code end) stored,
  primary key (system_id, created_on, id)
) partition by range (created_on);
-- The condition holds always. It keeps these two from statements that name no endpoint but a delivery: to those, planned
-- while a day was empty, any index looks as good as the primary key.
create index webhook_deliveries_endpoint on webhook_deliveries (system_id, endpoint_id, created_at, id)
  where endpoint_id is not null;
create index webhook_deliveries_event on webhook_deliveries (system_id, endpoint_id, event, created_at, id)
  where endpoint_id is not null;
create index webhook_deliveries_resource on webhook_deliveries (system_id, endpoint_id, resource_id, created_at, id)
  where resource_id is not null;
create index webhook_deliveries_problem on webhook_deliveries (system_id, endpoint_id, problem, created_at, id)
  where problem is not null;
create index webhook_deliveries_unsuccessful on webhook_deliveries (system_id, endpoint_id, created_at, id)
  where problem in ('failing', 'failed');
create index webhook_deliveries_failure on webhook_deliveries (system_id, endpoint_id, latest_failure, created_at, id)
  where latest_failure is not null;
create index webhook_deliveries_code on webhook_deliveries (system_id, endpoint_id, failed_code, created_at, id)
  where failed_code is not null;
-- Nearly always empty: what an operator is told of until it is sent again.
create index webhook_deliveries_set_aside on webhook_deliveries (system_id, created_at, id)
  where latest_failure = 'set_aside';
-- system. For a day without a partition of its own.
create table webhook_deliveries_default partition of webhook_deliveries default;

-- system. The deliveries that wait to be sent. Small, and rewritten all the time: vacuumed often.
create table webhook_queue (
  system_id   text collate "C" not null,
  delivery_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- the day of the delivery and of its body
  created_on  date not null,
  event_id    text collate "C" not null,
  -- sent again on request: waits until new deliveries are sent
  replay      boolean not null default false,
  due_at      timestamptz(3) not null,
  -- attempts made so far; of them those of this schedule
  attempts    smallint not null default 0,
  tries       smallint not null default 0,
  -- the token of the lane's holder that is sending it
  claim       bigint,
  claimed_at  timestamptz(3),
  -- processes in a row that ended while they had claimed it
  crashes     smallint not null default 0,
  primary key (system_id, delivery_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000);
create index webhook_queue_next on webhook_queue (system_id, endpoint_id, replay, due_at, delivery_id);
-- Nearly always empty: those that may have ended their processes.
create index webhook_queue_suspects on webhook_queue (system_id, crashes, due_at, delivery_id) where crashes >= 1;

-- system. Every POST: the bytes that went and the bytes that came.
create table webhook_attempts (
  system_id        text collate "C" not null,
  started_on       date not null,
  delivery_id      text collate "C" not null,
  number           smallint not null,
  endpoint_id      text collate "C" not null,
  started_at       timestamptz(3) not null,
  -- unknown: the process that sent it died before it wrote the outcome
  outcome          text not null check (outcome in ('succeeded', 'rejected', 'failed', 'unknown')),
  failure          text,
  detail           text,
  url              text not null,
  -- null where it is no longer known what was sent
  request_headers  text,
  request_body     text,
  remote_address   text,
  status           smallint,
  response_headers text,
  response_body    bytea,
  response_truncated     boolean not null default false,
  -- why less of the response is kept than was received; null: all of it is, or the limits for every response shortened it
  truncation_reason text check (truncation_reason in ('success', 'repeated_failure', 'daily_budget')),
  dns_ms           real,
  connect_ms       real,
  tls_ms           real,
  first_byte_ms    real,
  total_ms         real,
  next_attempt_at          timestamptz(3),
  next_attempt_reason         text,
  primary key (system_id, started_on, delivery_id, number)
) partition by range (started_on);
-- system. For a day without a partition of its own.
create table webhook_attempts_default partition of webhook_attempts default;

-- system. Deliveries to be sent again: a range of them, or those that somebody has chosen in the dashboard.
create table webhook_replays (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  since       timestamptz(3) not null,
  until       timestamptz(3) not null,
  -- counted when it was requested
  total       bigint not null,
  -- queued so far
  queued      bigint not null default 0,
  -- chosen in the dashboard: what has succeeded since is left out, and what waits for its next attempt is tried now
  is_choice   boolean not null default false,
  -- left out so far
  skipped     bigint not null default 0,
  -- finished by somebody before its end
  is_stopped  boolean not null default false,
  created_at  timestamptz(3) not null,
  finished_at timestamptz(3),
  primary key (system_id, id)
);
create index webhook_replays_endpoint on webhook_replays (system_id, endpoint_id, id);

-- system. The deliveries of a replay that are not queued yet.
create table webhook_replay_items (
  system_id   text collate "C" not null,
  replay_id   text collate "C" not null,
  created_on  date not null,
  delivery_id text collate "C" not null,
  primary key (system_id, replay_id, created_on, delivery_id)
);

-- system. When `station.updated` was last sent for each station, and with which content. No foreign key to the station:
-- its check would share-lock the station's row, for which every ride there waits.
create table webhook_station_notices (
  system_id   text collate "C" not null,
  station_id  text collate "C" not null,
  notified_at timestamptz(3) not null,
  -- of the JSON that was sent: two changes may carry the same `updated_at`
  json_hash   bigint not null,
  primary key (system_id, station_id)
) with (fillfactor = 50);

-- system. Mails about failing endpoints, until they are sent or given up. Nearly always empty. The recipient is looked up
-- when a mail is sent.
create table webhook_mails (
  system_id   text collate "C" not null,
  -- also the mail's Message-ID: a repeat can be recognised
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  subject     text not null,
  body        text not null,
  created_at  timestamptz(3) not null,
  attempts    smallint not null default 0,
  -- when it may be tried next; a claim moves it forward first
  due_at      timestamptz(3) not null,
  primary key (system_id, id)
);
create index webhook_mails_due on webhook_mails (system_id, due_at);

-- system. The size of an endpoint's attempts of a day (UTC) in the log, as counted by its lane's holder.
create table webhook_log_sizes (
  system_id    text collate "C" not null,
  endpoint_id  text collate "C" not null,
  day          date not null,
  -- requests and answers
  bytes        bigint not null,
  -- answers only: what counts towards the day's budget
  answer_bytes bigint not null,
  primary key (system_id, endpoint_id, day)
) with (fillfactor = 50);
