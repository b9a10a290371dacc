-- oldest program: 0.1.0
-- A file that was deleted is not made again by its schedule: docs/decisions/open-data.md.

-- step: transaction
alter table export_schedules
  -- the newest month of which the schedule has asked for a file; null: none yet
  add column asked_month text collate "C";
update export_schedules set asked_month = (
  select max(scheduled_month) from exports
  where exports.system_id = export_schedules.system_id and exports.schedule_id = export_schedules.id);
