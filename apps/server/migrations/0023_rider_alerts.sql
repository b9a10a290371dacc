-- oldest program: 0.1.0
-- Alerts to riders: docs/decisions/city.md#alerts-to-riders.

-- step: transaction
-- system. What riders should know, until 90 days after its end.
create table rider_alerts (
  system_id      text collate "C" not null,
  id             text collate "C" not null,
  -- 'operator', or the feed that has it
  source         text collate "C" not null,
  type           text not null check (type in ('system_closure', 'station_closure', 'station_move', 'other')),
  -- the other fields of GBFS 3.1's system_alerts: texts, times, and what it is about
  content        jsonb not null,
  opened_at      timestamptz(3) not null,
  -- the end of the last of its times, at which the clock ends it; null: it has none
  ends_at        timestamptz(3),
  -- null: it is open, unless ends_at is past
  ended_at       timestamptz(3),
  updated_at     timestamptz(3) not null,
  -- the station that the operator took offline with it
  closes_station text collate "C",
  primary key (system_id, id),
  check (ended_at >= opened_at)
);
-- A station has one closure at a time.
create unique index rider_alerts_closure on rider_alerts (system_id, closes_station)
  where ended_at is null and closes_station is not null;
create index rider_alerts_open on rider_alerts (system_id, ends_at) where ended_at is null;
create index rider_alerts_ended on rider_alerts (system_id, ended_at) where ended_at is not null;
