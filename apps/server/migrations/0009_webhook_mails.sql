-- Webhooks: mails to partners survive a crash, and a quiet endpoint's failures do not add up over months. See
-- docs/decisions/webhooks.md.

-- system. Mails about endpoints that fail, from the commit that notes them until they are sent or given up. Nearly always
-- empty. Who they are for is read when they are sent.
create table webhook_mails (
  system_id   text collate "C" not null,
  -- also the mail's Message-ID: a repeat can be recognised
  id          text collate "C" not null,
  endpoint_id text collate "C" not null,
  subject     text not null,
  body        text not null,
  noted_at    timestamptz(3) not null,
  attempts    smallint not null default 0,
  -- when it may be tried next: whoever claims it puts this off first
  due_at      timestamptz(3) not null,
  primary key (system_id, id)
);
create index webhook_mails_due on webhook_mails (system_id, due_at);

-- When the last of an endpoint's failures ended: a day later they count no more.
alter table webhook_lanes add column last_failed_at timestamptz(3);
update webhook_lanes set last_failed_at = now() where failing_since is not null;
