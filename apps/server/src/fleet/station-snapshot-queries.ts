import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import type { JoinedStation, KnownStationStatus } from "./station-parts.ts";
import type { StationInformation } from "./station.ts";

/** A station as the database has it: what a snapshot is compared with. Instants in milliseconds since 1970. */
export interface StationRow extends JoinedStation, Pick<Tables["stations"], "id" | "source" | "counters"> {
  readonly information_as_of: number | null;
  readonly status_as_of: number | null;
}

/** Names a waiting part. */
export type WaitingKey = Pick<Tables["gbfs_pending_station_parts"], "station_id" | "part">;

/** A part that waits for its other part. Its instant is in milliseconds since 1970, or as the database gives it. */
export type WaitingRow<Instant = number | null> =
  | Waiting<"information", StationInformation, Instant>
  | Waiting<"status", KnownStationStatus, Instant>;

interface Waiting<Part extends WaitingKey["part"], Content, Instant> extends WaitingKey {
  readonly part: Part;
  readonly as_of: Instant;
  readonly content: Content;
}

/** A row to be written. */
export interface StationWrite extends Omit<StationRow, "source" | "counters"> {
  /** Whether the station changed for readers, and not only what we keep about it. */
  readonly visible: boolean;
}

// vehicle_types_available travels as text, because that is what it is compared as.
const columns = `id, name, short_name, lat, lon, address, region_id, capacity, is_virtual_station, is_installed,
  is_renting, is_returning, num_bikes_available, num_bikes_disabled, num_docks_available, num_docks_disabled,
  vehicle_types_available::text as vehicle_types_available, status, offline_reason, last_reported, source,
  counters, absent_snapshots, was_installed, information_as_of, status_as_of`;

const writtenColumns = `id text, name text, short_name text, lat float8, lon float8, address text, region_id text,
  capacity int, is_virtual_station boolean, is_installed boolean, is_renting boolean, is_returning boolean,
  num_bikes_available int, num_bikes_disabled int, num_docks_available int, num_docks_disabled int,
  vehicle_types_available text, status text, offline_reason text, last_reported timestamptz,
  absent_snapshots smallint, was_installed boolean, information_as_of timestamptz, status_as_of timestamptz,
  visible boolean`;

const heldStations = statement(
  "stationSnapshot.held",
  `select ${columns} from stations where system_id = $1 and source = $2`,
);

const stationsOfOtherSources = statement(
  "stationSnapshot.ofOtherSources",
  `select ${columns} from stations where system_id = $1 and source <> $2 and id = any($3::text[])`,
);

// In the order of the primary key, so that two transactions never wait for each other in a ring.
const lockStations = statement(
  "stationSnapshot.lock",
  `select ${columns} from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insertStations = statement(
  "stationSnapshot.insert",
  `insert into stations (system_id, source, updated_at, counters, id, name, short_name, lat, lon, address, region_id,
     capacity, is_virtual_station, is_installed, is_renting, is_returning, num_bikes_available, num_bikes_disabled,
     num_docks_available, num_docks_disabled, vehicle_types_available, status, offline_reason, last_reported,
     absent_snapshots, was_installed, information_as_of, status_as_of)
   select $1, $2, $3::timestamptz, 'mirrored', id, name, short_name, lat, lon, address, region_id,
     capacity, is_virtual_station, is_installed, is_renting, is_returning, num_bikes_available, num_bikes_disabled,
     num_docks_available, num_docks_disabled, vehicle_types_available::json, status, offline_reason, last_reported,
     absent_snapshots, was_installed, information_as_of, status_as_of
   from json_to_recordset($4::json) as written(${writtenColumns})
   order by id
   on conflict (system_id, id) do nothing
   returning id`,
);

const updateStations = statement(
  "stationSnapshot.update",
  `update stations set source = $2,
     updated_at = case when written.visible then $3::timestamptz else stations.updated_at end,
     name = written.name, short_name = written.short_name, lat = written.lat, lon = written.lon,
     address = written.address, region_id = written.region_id, capacity = written.capacity,
     is_virtual_station = written.is_virtual_station, is_installed = written.is_installed,
     is_renting = written.is_renting, is_returning = written.is_returning,
     num_bikes_available = written.num_bikes_available, num_bikes_disabled = written.num_bikes_disabled,
     num_docks_available = written.num_docks_available, num_docks_disabled = written.num_docks_disabled,
     vehicle_types_available = written.vehicle_types_available::json, status = written.status,
     offline_reason = written.offline_reason, last_reported = written.last_reported,
     absent_snapshots = written.absent_snapshots, was_installed = written.was_installed,
     information_as_of = written.information_as_of, status_as_of = written.status_as_of
   from json_to_recordset($4::json) as written(${writtenColumns})
   where stations.system_id = $1 and stations.id = written.id`,
);

const pendingParts = statement(
  "stationSnapshot.waiting",
  "select station_id, part, as_of, content from gbfs_pending_station_parts where system_id = $1 and source = $2",
);

const saveWaiting = statement(
  "stationSnapshot.saveWaiting",
  `insert into gbfs_pending_station_parts (system_id, source, station_id, part, as_of, content)
   select $1, $2, station_id, part, as_of, content
   from json_to_recordset($3::json) as written(station_id text, part text, as_of timestamptz, content jsonb)
   order by station_id, part
   on conflict (system_id, source, station_id, part)
   do update set as_of = excluded.as_of, content = excluded.content`,
);

const dropWaiting = statement(
  "stationSnapshot.dropWaiting",
  `delete from gbfs_pending_station_parts
   where system_id = $1 and source = $2 and (station_id, part) in (
     select station_id, part from json_to_recordset($3::json) as joined(station_id text, part text))`,
);

const positions = statement(
  "stationSnapshot.positions",
  "select id, lat, lon from stations where system_id = $1 and id = any($2::text[])",
);

const notifyStations = statement("stationSnapshot.notify", "select pg_notify('stations', $1)");

/** What `columns` gives. */
interface StoredStation extends Pick<
  Tables["stations"],
  | "id"
  | "name"
  | "short_name"
  | "lat"
  | "lon"
  | "address"
  | "region_id"
  | "capacity"
  | "is_virtual_station"
  | "is_installed"
  | "is_renting"
  | "is_returning"
  | "num_bikes_available"
  | "num_bikes_disabled"
  | "num_docks_available"
  | "num_docks_disabled"
  | "status"
  | "offline_reason"
  | "last_reported"
  | "source"
  | "counters"
  | "absent_snapshots"
  | "was_installed"
  | "information_as_of"
  | "status_as_of"
> {
  readonly vehicle_types_available: string;
}

type StoredWaiting = WaitingRow<Tables["gbfs_pending_station_parts"]["as_of"]>;

/** The stations of a source. Not locked. */
export async function findStations(tx: Transaction, systemId: string, source: string): Promise<StationRow[]> {
  return (await tx.query<StoredStation>(heldStations, [systemId, source])).map(fromStored);
}

/** Those stations of other sources that have one of `ids`. Not locked. */
export async function listStationsOfOtherSources(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<StationRow[]> {
  return (await tx.query<StoredStation>(stationsOfOtherSources, [systemId, source, ids])).map(fromStored);
}

/** The same stations as they are now, locked until the transaction ends. */
export async function lockAndFindStations(tx: Transaction, systemId: string, ids: readonly string[]) {
  return (await tx.query<StoredStation>(lockStations, [systemId, ids])).map(fromStored);
}

/** Inserts those that are not there; gives the ids it inserted. `at` in milliseconds since 1970. */
export async function insertStationRows(
  tx: Transaction,
  systemId: string,
  source: string,
  at: number,
  rows: readonly StationWrite[],
): Promise<string[]> {
  const values = [systemId, source, new Date(at), stored(rows)];
  const inserted = await tx.query<Pick<StationRow, "id">>(insertStations, values);
  return inserted.map((row) => row.id);
}

/** Rewrites stations, which the transaction has locked. `at` in milliseconds since 1970. */
export async function updateStationRows(
  tx: Transaction,
  systemId: string,
  source: string,
  at: number,
  rows: readonly StationWrite[],
): Promise<void> {
  await tx.query(updateStations, [systemId, source, new Date(at), stored(rows)]);
}

/** The parts of a source that wait. */
export async function findPendingParts(tx: Transaction, systemId: string, source: string): Promise<WaitingRow[]> {
  const rows = await tx.query<StoredWaiting>(pendingParts, [systemId, source]);
  return rows.map((row) => ({ ...row, as_of: milliseconds(row.as_of) }));
}

export async function savePendingParts(
  tx: Transaction,
  systemId: string,
  source: string,
  rows: readonly WaitingRow[],
): Promise<void> {
  const written = rows.map((row) => ({ ...row, as_of: instant(row.as_of) }));
  await tx.query(saveWaiting, [systemId, source, JSON.stringify(written)]);
}

export async function dropPendingParts(
  tx: Transaction,
  systemId: string,
  source: string,
  keys: readonly WaitingKey[],
): Promise<void> {
  await tx.query(dropWaiting, [systemId, source, JSON.stringify(keys)]);
}

/** Where stations stand, by id. */
export async function findPositions(
  db: Queryable,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, { lat: number; lon: number }>> {
  const rows = await db.query<Pick<Tables["stations"], "id" | "lat" | "lon">>(positions, [systemId, ids]);
  return new Map(rows.map(({ id, lat, lon }) => [id, { lat, lon }]));
}

/** Tells listeners, once the transaction has committed, that stations of this system changed. */
export async function notifyStationsChanged(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(notifyStations, [systemId]);
}

function fromStored(row: StoredStation): StationRow {
  return {
    ...row,
    last_reported: milliseconds(row.last_reported),
    information_as_of: milliseconds(row.information_as_of),
    status_as_of: milliseconds(row.status_as_of),
  };
}

function stored(rows: readonly StationWrite[]): string {
  return JSON.stringify(
    rows.map((row) => ({
      ...row,
      last_reported: instant(row.last_reported),
      information_as_of: instant(row.information_as_of),
      status_as_of: instant(row.status_as_of),
    })),
  );
}

function milliseconds(at: Date | null): number | null {
  return at && at.getTime();
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
