-- `station.updated`, which webhooks carry on request: docs/decisions/webhooks.md.

-- system. When each station was last told of, and as what. No foreign key to the station: its check would share-lock the
-- station's row, for which every ride there waits.
create table webhook_station_notices (
  system_id  text collate "C" not null,
  station_id text collate "C" not null,
  told_at    timestamptz(3) not null,
  -- of the wire form that was told: two changes may carry the same `updated_at`
  wire_hash  bigint not null,
  primary key (system_id, station_id)
) with (fillfactor = 50);
