-- Partners can be suspended and removed; webhooks can carry a second signature, and their log has a size. See
-- docs/decisions/keys.md and docs/decisions/webhooks.md.

-- Suspended: keys are refused and deliveries held until the partner is resumed. Removed: the same for good; the row stays,
-- because the log, the reservations and the audit log lead to it.
alter table partners add column suspended_at timestamptz(3);
alter table partners add column removed_at timestamptz(3);

-- Paused because its partner is suspended: resuming the partner resumes it, which no other pause allows.
alter table webhook_endpoints drop constraint webhook_endpoints_pause_reason_check;
alter table webhook_endpoints add constraint webhook_endpoints_pause_reason_check
  check (pause_reason in ('partner', 'operator', 'failing', 'gone', 'probe_failed', 'suspended', 'removed'));

-- What deliveries are signed with. both: the Standard Webhooks headers beside Service-Signature, which always goes.
alter table webhook_endpoints add column signature text not null default 'service'
  check (signature in ('service', 'both'));

-- Answers 410 in a row, and when the first of them ended: they pause the endpoint only if they go on for a while.
alter table webhook_lanes drop column gone_deliveries;
alter table webhook_lanes add column gone_answers smallint not null default 0;
alter table webhook_lanes add column gone_since timestamptz(3);

-- Why less of an answer is kept than came; null: it is whole, or only the limits that hold for every answer cut it.
alter table webhook_attempts add column response_cut_for text
  check (response_cut_for in ('success', 'repeated_failure', 'daily_budget'));

-- system. How much of the log an endpoint's attempts of a day (UTC) take, as its lane's holder has counted.
create table webhook_log_sizes (
  system_id    text collate "C" not null,
  endpoint_id  text collate "C" not null,
  day          date not null,
  -- requests and answers
  bytes        bigint not null,
  -- of answers, what counts towards the day's budget
  answer_bytes bigint not null,
  primary key (system_id, endpoint_id, day)
) with (fillfactor = 50);
alter table webhook_log_sizes add foreign key (system_id, endpoint_id) references webhook_endpoints (system_id, id);
