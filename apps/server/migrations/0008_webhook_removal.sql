-- Webhooks: an endpoint can be removed, and what seals secrets is noted. See docs/decisions/webhooks.md.

-- Removed: paused for good, without events, address and secrets. The row stays, because the log of 30 days leads to it.
alter table webhook_endpoints drop constraint webhook_endpoints_pause_reason_check;
alter table webhook_endpoints add constraint webhook_endpoints_pause_reason_check
  check (pause_reason in ('partner', 'operator', 'failing', 'gone', 'probe_failed', 'removed'));
alter table webhook_endpoints drop constraint webhook_endpoints_events_check;
alter table webhook_endpoints add constraint webhook_endpoints_events_check
  check ((cardinality(events) = 0) = (pause_reason is not distinct from 'removed'));

-- reference. Which key of which secrets file seals a system's secrets, by its fingerprint: so that the first secret of
-- all is not sealed with another file than the service's.
create table webhook_sealing (
  system_id text collate "C" not null,
  key_mark  text not null,
  noted_at  timestamptz(3) not null,
  primary key (system_id)
);
