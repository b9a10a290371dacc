-- oldest program: 0.1.0
-- Where vehicles enter and leave an agency's area: docs/decisions/mds.md.

-- step: transaction
alter table vehicle_events
  -- of an event that happened elsewhere than the one before: that one's state and place. Null: the vehicle did not move
  add column from_state      text collate "C",
  add column from_station_id text collate "C",
  add column from_lat        double precision,
  add column from_lon        double precision;
alter table agencies
  -- changes with `boundary`, which is long and read only then; null: the agency named none
  add column boundary_hash text collate "C";
update agencies set boundary_hash = md5(boundary::text) where boundary is not null;
