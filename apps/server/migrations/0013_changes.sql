-- oldest program: 0.1.0
-- Following changes: what has changed in a list since a checkpoint. The rules are in docs/decisions/changes.md.

-- step: transaction
-- Where a change stands in its list: microseconds since 1970, by the database's clock at the moment at which the row is
-- written, which is after the transaction has locked the table. Declared stable although it reads the clock: a distributed
-- database takes a volatile function in no `update`. Nothing depends on two calls giving different positions.
create function next_change_position() returns bigint language plpgsql stable parallel safe as $$
begin
  return (extract(epoch from clock_timestamp()) * 1000000)::bigint;
end $$;

-- Whether the machine that is asked holds transactions that are prepared and not committed: what they wrote is not seen yet.
create function has_prepared_transactions() returns boolean language plpgsql stable as $$
begin
  return exists (select from pg_prepared_xacts where database = current_database());
end $$;

-- system. A bike that a feed no longer lists, and that is therefore deleted: whoever follows the bikes sees it removed.
create table removed_bikes (
  system_id       text collate "C" not null,
  id              text collate "C" not null,
  change_position bigint not null default next_change_position(),
  primary key (system_id, id)
);
create index removed_bikes_changed on removed_bikes (system_id, change_position, id);

-- system. How often rows of a list were deleted without a trace, by the undo of an import: whoever follows the list must
-- begin anew.
create table change_resets (
  system_id text collate "C" not null,
  list      text collate "C" not null check (list in ('stations', 'bikes', 'rides')),
  n         bigint not null,
  primary key (system_id, list)
);

-- step: transaction
-- Rows that were there before have position 0: nobody has a checkpoint that is older. Each write from now on has its own.
alter table stations add column change_position bigint not null default 0;
alter table stations alter column change_position set default next_change_position();

-- step: transaction
alter table bikes add column change_position bigint not null default 0;
alter table bikes alter column change_position set default next_change_position();

-- step: transaction
alter table rides add column change_position bigint not null default 0;
alter table rides alter column change_position set default next_change_position();

-- step: transaction
alter table reservations add column change_position bigint not null default 0;
alter table reservations alter column change_position set default next_change_position();

-- step: autocommit
create index concurrently stations_changed on stations (system_id, change_position, id) where change_position > 0;

-- step: autocommit
create index concurrently bikes_changed on bikes (system_id, change_position, id) where change_position > 0;

-- step: autocommit
create index concurrently rides_changed on rides (system_id, change_position, id) where change_position > 0;

-- step: autocommit
create index concurrently reservations_changed on reservations (system_id, partner_id, change_position, id)
  where change_position > 0;
