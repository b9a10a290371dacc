-- oldest program: 0.1.0
-- Endpoints that are told of some places only, and of events by a pattern such as `ride.*`. A program of 0.1.0 that runs
-- meanwhile sends to such an endpoint what happens anywhere, and nothing by a pattern: docs/decisions/webhooks.md.

-- step: transaction
-- Any of the three suffices; all null: everywhere.
alter table webhook_endpoints
  add column station_ids text[],
  add column region_ids  text[],
  -- west, south, east, north; west > east: across the antimeridian
  add column bbox        double precision[];
