-- oldest program: 0.1.0
-- What an agency is and asks for: docs/decisions/mds.md.

-- step: transaction
alter table agencies
  -- an IANA name; null: the system's
  add column time_zone    text collate "C",
  -- trips that ended from then on are given, though their vehicles' events are not; null: those since the events are
  add column trips_since  timestamptz(3),
  -- a GeoJSON MultiPolygon; null: the agency named none
  add column boundary     json,
  -- its requirement file, as MDS's Policy API has it; null: none is kept
  add column requirements json,
  -- the fields that the file disallows, by endpoint: read with each request, which the file is not
  add column left_out     json;
