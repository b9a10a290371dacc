import { arrayOf, columnsOfTable, type RowOf } from "../db/columns.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import type { JoinedStation, KnownStationStatus } from "./station-parts.rules.ts";
import type { StationInformation } from "./station.rules.ts";

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

/** What a feed decides of a station, and what is kept of its snapshots. */
const columns = columnsOfTable("stations").without(
  "system_id",
  "source",
  "updated_at",
  "counters",
  "num_bikes_reserved",
  "vehicle_types_available",
  "import_id",
);

// vehicle_types_available travels as text, because that is what it is compared as.
const found = `${columns.list()}, vehicle_types_available::text as vehicle_types_available, source, counters`;
const written = columns.and({ vehicle_types_available: arrayOf<string>("text"), visible: arrayOf<boolean>("boolean") });

const ofSource = statement(
  "stationSnapshot.ofSource",
  `select ${found} from stations where system_id = $1 and source = $2`,
);

const ofOtherSources = statement(
  "stationSnapshot.ofOtherSources",
  `select ${found} from stations where system_id = $1 and source <> $2 and id = any($3::text[])`,
);

// In the order of the primary key, so that two transactions never wait for each other in a ring.
const lock = statement(
  "stationSnapshot.lock",
  `select ${found} from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insert = statement(
  "stationSnapshot.insert",
  `insert into stations (system_id, source, updated_at, counters, vehicle_types_available, ${columns.list()})
   select $1, $2, $3::timestamptz, 'mirrored', vehicle_types_available::json, ${columns.list()}
   from ${written.recordset(4, "w")}
   order by id
   on conflict (system_id, id) do nothing
   returning id`,
);

const update = statement(
  "stationSnapshot.update",
  `update stations set source = $2, updated_at = case when w.visible then $3::timestamptz else stations.updated_at end,
     vehicle_types_available = w.vehicle_types_available::json, ${columns.without("id").assignments("w")}
   from ${written.recordset(4, "w")}
   where stations.system_id = $1 and stations.id = w.id`,
);

const pendingParts = statement(
  "stationSnapshot.pending",
  "select station_id, part, as_of, content from gbfs_pending_station_parts where system_id = $1 and source = $2",
);

const upsertPending = statement(
  "stationSnapshot.upsertPending",
  `insert into gbfs_pending_station_parts (system_id, source, station_id, part, as_of, content)
   select $1, $2, station_id, part, as_of, content
   from json_to_recordset($3::json) as written(station_id text, part text, as_of timestamptz, content jsonb)
   order by station_id, part
   on conflict (system_id, source, station_id, part)
   do update set as_of = excluded.as_of, content = excluded.content`,
);

const deletePending = statement(
  "stationSnapshot.deletePending",
  `delete from gbfs_pending_station_parts
   where system_id = $1 and source = $2 and (station_id, part) in (
     select station_id, part from json_to_recordset($3::json) as joined(station_id text, part text))`,
);

const positions = statement(
  "stationSnapshot.positions",
  "select id, lat, lon from stations where system_id = $1 and id = any($2::text[])",
);

/** What `found` gives. */
interface StoredStation extends RowOf<typeof columns>, Pick<Tables["stations"], "source" | "counters"> {
  readonly vehicle_types_available: string;
}

type StoredWaiting = WaitingRow<Tables["gbfs_pending_station_parts"]["as_of"]>;

/** The stations of a source. Not locked. */
export async function listStationsOfSource(tx: Transaction, systemId: string, source: string): Promise<StationRow[]> {
  return (await tx.query<StoredStation>(ofSource, [systemId, source])).map(fromStored);
}

/** Those stations of other sources that have one of `ids`. Not locked. */
export async function listStationsOfOtherSources(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<StationRow[]> {
  return (await tx.query<StoredStation>(ofOtherSources, [systemId, source, ids])).map(fromStored);
}

/** The same stations as they are now, locked until the transaction ends. */
export async function lockFeedStations(tx: Transaction, systemId: string, ids: readonly string[]) {
  return (await tx.query<StoredStation>(lock, [systemId, ids])).map(fromStored);
}

/** Inserts those that are not there; gives the ids it inserted. */
export async function insertFeedStations(
  tx: Transaction,
  systemId: string,
  source: string,
  now: Date,
  rows: readonly StationWrite[],
): Promise<string[]> {
  const values = [systemId, source, now, stored(rows)];
  const inserted = await tx.query<Pick<StationRow, "id">>(insert, values);
  return inserted.map((row) => row.id);
}

/** Rewrites stations, which the transaction has locked. */
export async function updateFeedStations(
  tx: Transaction,
  systemId: string,
  source: string,
  now: Date,
  rows: readonly StationWrite[],
): Promise<void> {
  await tx.query(update, [systemId, source, now, stored(rows)]);
}

/** The parts of a source that wait. */
export async function listPendingParts(tx: Transaction, systemId: string, source: string): Promise<WaitingRow[]> {
  const rows = await tx.query<StoredWaiting>(pendingParts, [systemId, source]);
  return rows.map((row) => ({ ...row, as_of: milliseconds(row.as_of) }));
}

export async function insertPendingParts(
  tx: Transaction,
  systemId: string,
  source: string,
  rows: readonly WaitingRow[],
): Promise<void> {
  const parts = rows.map((row) => ({ ...row, as_of: instant(row.as_of) }));
  await tx.query(upsertPending, [systemId, source, JSON.stringify(parts)]);
}

export async function deletePendingParts(
  tx: Transaction,
  systemId: string,
  source: string,
  keys: readonly WaitingKey[],
): Promise<void> {
  await tx.query(deletePending, [systemId, source, JSON.stringify(keys)]);
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
