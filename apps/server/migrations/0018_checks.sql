-- oldest program: 0.1.0
-- Checks that somebody has acknowledged: docs/decisions/observability.md.

-- step: transaction
alter table alerts
  -- what the check has found, one by one; null: written by a program that has one text for all of it
  add column results jsonb;

-- step: transaction
-- reference. What checks have found that somebody knows of: it is shown, and not mailed.
create table check_acknowledgements (
  -- the check
  name            text collate "C" not null,
  -- the machine or the system, as in alerts
  scope           text collate "C" not null,
  -- what of it, such as a source of feeds
  subject         text collate "C" not null,
  -- the worst that is acknowledged
  severity        text not null check (severity in ('warning', 'failure')),
  acknowledged_at timestamptz(3) not null,
  -- null: until what was found is over, or gets worse
  until           timestamptz(3),
  -- when a process has found it last
  found_at        timestamptz(3) not null,
  primary key (name, scope, subject)
);
