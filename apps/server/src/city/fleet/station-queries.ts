import { arrayOf, columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { CHANGED, timeOfChange } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { recordInserted, recordUpdated, stateOf, stateSince } from "../history/changes-sql-fragments.ts";
import { freeDocks, hasOwnDocks, standingBikes } from "./dock-sql-fragments.ts";

/*
 * The statements with which commands read and write stations. The free docks of the operator's stations follow the bikes:
 * they are `docks_base`, or else the capacity without disabled docks, less the bikes that stand there. `docks_base` is the
 * number of free docks that the operator reported, plus the bikes that stood there then; null: none was reported.
 */

/**
 * The columns whose values commands give. Left out: the numbers of bikes, which follow from the bikes; columns that the
 * statements set by themselves; and those that only feeds and imports write.
 */
const columns = columnsOfTable("stations").without(
  "system_id",
  "updated_at",
  "source",
  "counters",
  "num_bikes_available",
  "num_bikes_reserved",
  "num_bikes_disabled",
  "vehicle_types_available",
  "vehicle_docks_available",
  "source_facts",
  "last_reported",
  "absent_snapshots",
  "docks_base",
  "information_as_of",
  "status_as_of",
  "import_id",
  "change_position",
  "state_since",
  "known_since",
);

/** A station as commands read and write it. */
export type StationFields = RowOf<typeof columns>;

/** A station that is locked. */
export interface LockedStation extends StationFields, Pick<Tables["stations"], "source" | "docks_base"> {}

const written = columns.and({ is_claimed: arrayOf<boolean>("boolean") });
/** A station to be written. `is_claimed`: the station becomes the operator's, with operated counters. */
type StationWrite = StationFields & { readonly is_claimed?: boolean };

const lock = statement(
  "fleet.lockStations",
  `select ${columns.list()}, source, docks_base from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insert = statement(
  "fleet.insertStations",
  `with inserted as (
     insert into stations as s (system_id, updated_at, state_since, known_since, source, counters, ${columns.list()})
     select $1, $2::timestamptz, $2::timestamptz, $2::timestamptz, 'operator', 'operated', ${columns.list()}
     from ${columns.recordset(3, "w")} order by id
     on conflict (system_id, id) do nothing returning id, json, updated_at, ${stateOf("s")}),
   ${recordInserted("inserted")}
   select id, json, updated_at from inserted`,
);

// The events of one station are ordered by their times, so a status change must be later than every earlier change.
const changedAt = timeOfChange("s.updated_at", "$2", "s.status is distinct from w.status");

// Of a station's state, commands change only the flags, the status and the docks.
const update = statement(
  "fleet.updateStations",
  `with updated as (
     update stations s set ${CHANGED}, ${columns.without("id", "num_docks_available").assignments("w")},
       num_docks_available = w.docks,
       ${stateSince(
         "s",
         changedAt,
         `(s.is_installed, s.is_renting, s.is_returning, s.status, s.offline_reason, s.num_docks_available, s.num_docks_disabled)
           is distinct from (w.is_installed, w.is_renting, w.is_returning, w.status, w.offline_reason, w.docks, w.num_docks_disabled)`,
       )},
       updated_at = ${changedAt},
       source = case when w.is_claimed then 'operator' else s.source end,
       counters = case when w.is_claimed then 'operated' else s.counters end,
       source_facts = case when w.is_claimed then null else s.source_facts end,
       vehicle_docks_available = case when w.is_claimed then null else s.vehicle_docks_available end
     from (
       select w.*, case when w.is_claimed or ${hasOwnDocks("station")} then ${freeDocks({
         base: "station.docks_base",
         capacity: "w.capacity",
         disabled: "w.num_docks_disabled",
         standing: standingBikes("station"),
       })} else w.num_docks_available end as docks
       from ${written.recordset(3, "w")} join stations station on station.system_id = $1 and station.id = w.id) as w
     where s.system_id = $1 and s.id = w.id returning s.id, s.json, s.updated_at, ${stateOf("s")}),
   ${recordUpdated("updated")}
   select id, json, updated_at from updated`,
);

const reportDocks = statement(
  "fleet.reportDocks",
  `update stations s set docks_base = w.docks + ${standingBikes("s")}
   from unnest($2::text[], $3::int[]) as w (id, docks) where s.system_id = $1 and s.id = w.id`,
);

const json = statement(
  "fleet.stationJson",
  "select id, json from stations where system_id = $1 and id = any($2::text[])",
);

const named = statement(
  "fleet.namedStations",
  "select id, lat, lon, status, offline_reason, source from stations where system_id = $1 and id = any($2::text[])",
);

/** A station that was written. */
export type WrittenStation = Pick<Tables["stations"], "id" | "json" | "updated_at">;

/** Locks stations in the order of their ids. */
export function lockStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<LockedStation[]> {
  return tx.query<LockedStation>(lock, [systemId, ids]);
}

/** Inserts the stations of the operator whose ids are free. @returns the inserted stations, by id */
export function insertStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly StationFields[],
): Promise<ReadonlyMap<string, WrittenStation>> {
  return write(tx, insert, systemId, now, stations);
}

/** Updates locked stations. @returns them by id; `updated_at` may be later than `now`, so that it follows earlier changes */
export function updateStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  stations: readonly StationWrite[],
): Promise<ReadonlyMap<string, WrittenStation>> {
  return write(tx, update, systemId, now, stations);
}

/** Records the free docks that the operator reports of locked stations (null: none). Call it before `updateStations`. */
export async function updateReportedDocks(
  tx: Transaction,
  systemId: string,
  reports: ReadonlyMap<string, number | null>,
): Promise<void> {
  if (reports.size > 0) await tx.query(reportDocks, [systemId, [...reports.keys()], [...reports.values()]]);
}

/** Runs `insert` or `update` with stations as its values. @returns the written stations, by id */
async function write(
  tx: Transaction,
  statementToRun: typeof insert,
  systemId: string,
  now: Date,
  stations: readonly StationWrite[],
): Promise<ReadonlyMap<string, WrittenStation>> {
  if (stations.length === 0) return new Map();
  const rows = await tx.query<WrittenStation>(statementToRun, [systemId, now, JSON.stringify(stations)]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the JSON of stations, by id. */
export async function listStationJson(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.query<Pick<WrittenStation, "id" | "json">>(json, [systemId, ids]);
  return new Map(rows.map((row) => [row.id, row.json]));
}

/** A station that items name. */
export type NamedStation = Pick<Tables["stations"], "id" | "lat" | "lon" | "status" | "offline_reason" | "source">;

/** Finds the stations that items name, by id; removed ones too. */
export async function findNamedStations(
  db: Queryable,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, NamedStation>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<NamedStation>(named, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

// Includes bikes on rides that began at the stations, because they come back if the ride is cancelled.
const bikesAt = statement(
  "fleet.bikesAtStations",
  `select id from bikes
   where system_id = $1 and (station_id = any($2::text[]) or reported_station_id = any($2::text[])) order by id`,
);

/** Returns the ids of the bikes that stand at stations, or stood there before their rides. Locks nothing. */
export async function listBikesAt(tx: Transaction, systemId: string, stationIds: readonly string[]): Promise<string[]> {
  return (await tx.query<{ id: string }>(bikesAt, [systemId, stationIds])).map(({ id }) => id);
}
