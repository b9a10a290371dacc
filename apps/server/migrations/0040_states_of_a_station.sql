-- oldest program: 0.1.0
-- A station's states are found by their threshold as well: where thousands of thresholds watch one station, PostgreSQL read all of
-- its states for each.

-- step: autocommit
create index concurrently webhook_threshold_states_by_station on webhook_threshold_states (system_id, station_id, threshold_id);
-- step: autocommit
drop index concurrently if exists webhook_threshold_states_station;
