-- oldest program: 0.1.0
-- Partners' test cities: docs/decisions/sandbox.md.

-- step: transaction
-- reference. A partner's sandbox: a system of its own, in which a partner with the same id has keys, endpoints and logs. Used
-- ones rewrite their row once a minute.
create table sandboxes (
  system_id       text collate "C" not null,
  -- the partner whose sandbox it is, and its system
  live_system_id  text collate "C" not null,
  partner_id      text collate "C" not null,
  seed            bigint not null,
  created_at      timestamptz(3) not null,
  -- when its city was made
  reset_at        timestamptz(3) not null,
  -- the last request, command or visit, to the minute: one that nobody uses sleeps, and is emptied in the end
  used_at         timestamptz(3) not null,
  -- when rides start and end again; whoever moves it on starts and ends them
  rides_at        timestamptz(3) not null,
  -- false: it is empty, because nobody used it for long
  has_city        boolean not null,
  -- by how much what waits for time was brought nearer since the city was made
  advanced_seconds bigint not null default 0 check (advanced_seconds >= 0),
  -- what the sandbox's API and deliveries suffer; null: nothing
  faults          jsonb,
  webhook_faults  jsonb,
  primary key (system_id)
) with (fillfactor = 50);
-- A partner has one.
create unique index sandboxes_partner on sandboxes (live_system_id, partner_id);
alter table sandboxes add foreign key (system_id) references systems (system_id);
alter table sandboxes add foreign key (live_system_id, partner_id) references partners (system_id, id);

-- step: transaction
-- A sandbox that is made anew loses its reservations too.
-- narrows change_resets: it accepts one more word than before.
alter table change_resets
  drop constraint change_resets_list_check,
  add constraint change_resets_list_check check (list in ('stations', 'bikes', 'rides', 'reservations')) not valid;

-- step: transaction
alter table change_resets validate constraint change_resets_list_check;
