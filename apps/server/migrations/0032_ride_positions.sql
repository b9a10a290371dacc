-- oldest program: 0.1.0
-- Where rides began and ended, for agencies alone: docs/decisions/mds.md.

-- step: transaction
alter table rides
  -- null: at the ride's station, or nowhere known
  add column start_lat double precision,
  add column start_lon double precision,
  add column end_lat   double precision,
  add column end_lon   double precision;
