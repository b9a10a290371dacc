-- The live system: what bikes do now, who holds them, what happened, and what was asked before.

-- A bike's state follows from three things: the ride it is on, the reservation that holds it, and what was last
-- reported of it. The reports are kept by the side, each part with the instant at which it was so, because they come
-- late, twice and in any order, also while a ride hides them.
alter table bikes add column ride_id text collate "C";
alter table bikes add column reservation_id text collate "C";
alter table bikes add column reported_state text check (reported_state in
  ('available', 'non_operational', 'non_contactable', 'missing', 'removed'));
alter table bikes add column reported_state_at timestamptz(3);
alter table bikes add column reported_station_id text collate "C";
alter table bikes add column reported_lat double precision;
alter table bikes add column reported_lon double precision;
alter table bikes add column reported_position_at timestamptz(3);
alter table bikes add column reported_range_at timestamptz(3);
-- A public id for GBFS that says nothing of the bike: made anew whenever a ride ends.
alter table bikes add column public_id text collate "C";
alter table bikes add check ((vehicle_state = 'on_trip') = (ride_id is not null) or ride_id is null);

-- Counters and positions change all the time: swept often, these tables stay as small as they are.
alter table stations set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
alter table bikes set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

create function reservation_wire(
  id text, status text, station_id text, bike_id text, vehicle_type_id text, rider_ref text, created_at timestamptz,
  expires_at timestamptz, cancelled_at timestamptz, cancel_reason text, ride_id text, updated_at timestamptz
) returns text language plpgsql immutable parallel safe as $$
begin
  return '{"id":' || to_json(id)
    || ',"status":"' || status || '"'
    || ',"station_id":' || coalesce(to_json(station_id)::text, 'null')
    || ',"bike_id":' || to_json(bike_id)
    || ',"vehicle_type_id":' || coalesce(to_json(vehicle_type_id)::text, 'null')
    || ',"rider_ref":' || coalesce(to_json(rider_ref)::text, 'null')
    || ',"created_at":"' || to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
    || ',"expires_at":"' || to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"'
    || ',"cancelled_at":' || coalesce('"' || to_char(cancelled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null')
    || ',"cancel_reason":' || coalesce('"' || cancel_reason || '"', 'null')
    || ',"ride_id":' || coalesce(to_json(ride_id)::text, 'null')
    || ',"updated_at":"' || to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"}';
end $$;

-- system. A bike held for a partner's rider. `active` ends at `expires_at` for every reader, whether or not the
-- sweeper has written it: readers make their wire form with the status as of now.
create table reservations (
  system_id       text collate "C" not null,
  id              text collate "C" not null,
  partner_id      text collate "C" not null,
  status          text not null check (status in ('active', 'fulfilled', 'cancelled', 'expired')),
  station_id      text collate "C",
  bike_id         text collate "C" not null,
  vehicle_type_id text collate "C",
  rider_ref       text collate "C" check (length(rider_ref) between 1 and 64),
  created_at      timestamptz(3) not null,
  expires_at      timestamptz(3) not null,
  cancelled_at    timestamptz(3),
  cancel_reason   text check (cancel_reason in ('partner', 'operator', 'bike_unavailable')),
  ride_id         text collate "C",
  updated_at      timestamptz(3) not null,
  primary key (system_id, id),
  check (expires_at > created_at),
  check ((status = 'cancelled') = (cancelled_at is not null)),
  check ((status = 'cancelled') = (cancel_reason is not null)),
  check ((status = 'fulfilled') = (ride_id is not null))
);
create index reservations_partner on reservations (system_id, partner_id, created_at, id);
-- The second guards; the bike's own row, locked, is the first.
create unique index reservations_one_active_per_bike on reservations (system_id, bike_id) where status = 'active';
create unique index reservations_one_active_per_rider on reservations (system_id, partner_id, rider_ref)
  where status = 'active' and rider_ref is not null;
create index reservations_due on reservations (system_id, expires_at, id) where status = 'active';

-- system. Events as their writers leave them, in the transaction of the change itself, without a place in the list.
create table new_events (
  system_id   text collate "C" not null,
  id          text collate "C" not null,
  name        text collate "C" not null,
  occurred_at timestamptz(3) not null,
  -- null: every partner may see it
  partner_id  text collate "C",
  -- the resource's wire form at that moment
  data        text not null,
  primary key (system_id, id)
)
-- Every row lives for some milliseconds: swept often, the table stays as small as it is.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- system. The events list: the sequencer moves committed events here and gives each the next place, so that whoever
-- has read up to a place has missed nothing before it. One partition a day, dropped whole after 30 days.
create table events (
  system_id   text collate "C" not null,
  recorded_on date not null,
  position    bigint not null,
  id          text collate "C" not null,
  name        text collate "C" not null,
  occurred_at timestamptz(3) not null,
  partner_id  text collate "C",
  data        text not null,
  primary key (system_id, recorded_on, position)
) partition by range (recorded_on);
create index events_id on events (system_id, id);
-- What one viewer sees of one name: a walk through a sparse view steps over nothing else.
create index events_seen on events (system_id, (coalesce(partner_id, '')), name, position);

-- system. The last place given, and the lock that lets one sequencer number a system's events at a time.
create table event_sequences (
  system_id     text collate "C" not null,
  last_position bigint not null,
  primary key (system_id)
);

-- system. How many events of each name each day has, for all partners ('') and for one: what makes totals cheap.
create table event_counts (
  system_id   text collate "C" not null,
  recorded_on date not null,
  name        text collate "C" not null,
  partner_id  text collate "C" not null,
  n           bigint not null,
  primary key (system_id, recorded_on, name, partner_id)
);

-- system. What a request with an Idempotency-Key was answered, kept for 24 h in the transaction of its effect.
create table idempotency_keys (
  system_id  text collate "C" not null,
  -- the partner's id, or `operator`
  caller     text collate "C" not null,
  path       text collate "C" not null,
  key        text collate "C" not null,
  body_hash  bytea not null,
  status     smallint,
  body       text,
  created_at timestamptz(3) not null,
  primary key (system_id, caller, path, key)
);
create index idempotency_keys_age on idempotency_keys (system_id, created_at);
