-- oldest program: 0.1.0
-- What processes remember of past rides stays true until those rides change: which days had changes is noted, so that the
-- other days need not be read again.
-- step: transaction
-- How often rides came, went or were corrected that had started on the day, if it was two days ago or more; rows of days alone.
alter table ride_counts add column changes bigint not null default 0;
-- How many of the past changes are noted by the day. The program of the release before does not.
alter table list_counts add column noted_changes bigint not null default 0;
-- The rides of a station are also listed by status and by last change: with these columns neither reads a row.
-- step: autocommit
create index concurrently rides_from_station on rides (system_id, start_station_id, started_at, id) include (status, updated_at);
-- step: autocommit
create index concurrently rides_to_station on rides (system_id, end_station_id, started_at, id)
  include (start_station_id, status, updated_at);
-- step: autocommit
drop index concurrently if exists rides_start_station;
-- step: autocommit
drop index concurrently if exists rides_end_station;
