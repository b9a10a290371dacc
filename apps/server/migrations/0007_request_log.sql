-- The log of requests that carried a key, and how much each key is used. The rules are in docs/decisions/request-log.md.

-- system. A request that carried a key of ours. Written in batches after the response; what does not fit is counted instead.
create table request_log (
  system_id  text collate "C" not null,
  logged_on  date not null,
  -- the Request-Id, which sorts by time
  id         text collate "C" not null,
  -- when the request arrived
  at         timestamptz(3) not null,
  key_id     text collate "C" not null,
  -- null: an operator key
  partner_id text collate "C",
  method     text not null,
  -- the route's pattern, such as /v1/rides/:id: a path may contain what must not be kept
  route      text not null,
  status     smallint not null,
  -- the code of the error; null: the request succeeded
  error      text,
  -- until the response was sent
  ms         real not null,
  address    text not null,
  primary key (system_id, logged_on, id)
) partition by range (logged_on);
create index request_log_partner on request_log (system_id, partner_id, logged_on, id);
create index request_log_key on request_log (system_id, key_id, logged_on, id);
-- Errors are few among many, and what is looked for.
create index request_log_errors on request_log (system_id, partner_id, logged_on, id) where status >= 400;
-- system. For a day without a partition of its own.
create table request_log_default partition of request_log default;

-- system. Requests of a key in a minute. Exact where the log leaves some out; a process that is killed loses its last seconds.
create table key_usage_minutes (
  system_id     text collate "C" not null,
  counted_on    date not null,
  key_id        text collate "C" not null,
  minute        timestamptz(0) not null,
  partner_id    text collate "C",
  requests      integer not null,
  -- with a status of 4xx, without those of 429
  client_errors integer not null,
  server_errors integer not null,
  rate_limited  integer not null,
  -- requests that the log left out
  unlogged      integer not null,
  primary key (system_id, counted_on, key_id, minute)
) partition by range (counted_on);
create index key_usage_minutes_partner on key_usage_minutes (system_id, partner_id, minute);
-- For all keys of a system: the primary key would give all of their day.
create index key_usage_minutes_minute on key_usage_minutes (system_id, minute);
-- system. For a day without a partition of its own.
create table key_usage_minutes_default partition of key_usage_minutes default;

-- system. Requests of a key to a route on a day (UTC): who still calls what.
create table key_usage_days (
  system_id     text collate "C" not null,
  key_id        text collate "C" not null,
  day           date not null,
  -- the method and the route's pattern: GET /v1/rides/:id
  route         text not null,
  partner_id    text collate "C",
  requests      bigint not null,
  client_errors bigint not null,
  server_errors bigint not null,
  rate_limited  bigint not null,
  total_ms      double precision not null,
  primary key (system_id, key_id, day, route)
) with (fillfactor = 70);
create index key_usage_days_day on key_usage_days (system_id, day);
