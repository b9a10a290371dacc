-- oldest program: 0.1.0
-- Processes remember past rides by the hour. What comes, goes or is corrected in an hour that is over is counted, and noted by its
-- day in ride_counts.changes.
-- step: transaction
-- How often rides came, went or were corrected that had started more than an hour before. The program of the release before does
-- not count them.
alter table list_counts add column late_changes bigint not null default 0;
