import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { CHANGED } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import { forgetDeleted } from "../history/changes-sql-fragments.ts";

const columns = columnsOfTable("stations").only("id", "name", "lat", "lon");

/** A placeholder station, as far as rides say something of it. */
export type PlaceholderStation = RowOf<typeof columns>;

const known = statement("placeholders.known", "select id from stations where system_id = $1 and id = any($2::text[])");

// A station that is being removed at this moment is not there: the lock waits for its end.
const lockKnown = statement(
  "placeholders.lockKnown",
  "select id from stations where system_id = $1 and id = any($2::text[]) order by id for key share",
);

// `was_installed`: bikes were taken and left there, so it is a station that is gone, not one still to come.
const insertPlaceholderRows = statement(
  "stations.insertPlaceholderRows",
  `insert into stations (system_id, ${columns.list()}, is_installed, is_renting, is_returning, status,
     offline_reason, updated_at, source, counters, was_installed, import_id)
   select $1, ${columns.list()}, false, false, false, 'offline', 'removed_from_source', $3::timestamptz, $2,
     'mirrored', true, $4
   from ${columns.unnest(5, "w")}
   order by id
   on conflict (system_id, id) do nothing
   returning id`,
);

// A feed or a command that claims a placeholder changes one of these columns.
const lockUnchanged = statement(
  "placeholders.lock",
  `select id from stations
   where system_id = $1 and import_id = $2 and updated_at = $3::timestamptz and source = $4
     and status = 'offline' and offline_reason = 'removed_from_source'
     and information_as_of is null and status_as_of is null
   order by id for update`,
);

// Runs after the placeholders are locked, so that it sees every earlier use of one.
const inUse = statement(
  "placeholders.inUse",
  `select placeholder.id,
     exists (select from rides where system_id = $1 and start_station_id = placeholder.id)
     or exists (select from rides where system_id = $1 and end_station_id = placeholder.id)
     or placeholder.id in (select station_id from bikes where system_id = $1 and station_id is not null)
     or placeholder.id in (select reported_station_id from bikes where system_id = $1 and reported_station_id is not null)
     or placeholder.id in (select station_id from reservations where system_id = $1 and station_id is not null)
     or placeholder.id in (select station_id from gbfs_pending_station_parts where system_id = $1) as in_use
   from unnest($2::text[]) as placeholder (id) order by placeholder.id`,
);

const deletePlaceholderRows = statement(
  "placeholders.delete",
  `with deleted as (delete from stations where system_id = $1 and id = any($2::text[]) returning id),
   ${forgetDeleted("deleted")}
   select`,
);

// The new owner is the oldest import whose rides name the placeholder: it would have created it without the other import.
const reassign = statement(
  "placeholders.reassign",
  `update stations set ${CHANGED}, import_id = heir.id, source = coalesce(heir.source, stations.source),
     updated_at = coalesce(heir.at, stations.updated_at)
   from unnest($2::text[]) as placeholder (id)
   left join lateral (
     select imports.id, imports.source, imports.at from imports
     where imports.system_id = $1 and imports.id in (
       select import_id from rides where system_id = $1 and start_station_id = placeholder.id
       union select import_id from rides where system_id = $1 and end_station_id = placeholder.id)
     order by imports.at, imports.id limit 1) as heir on true
   where stations.system_id = $1 and stations.id = placeholder.id`,
);

/** Returns the stations that exist. */
export async function listKnownStations(db: Queryable, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<Pick<PlaceholderStation, "id">>(known, [systemId, ids]);
  return rows.map(({ id }) => id);
}

/** Returns the stations that exist, and locks them until the transaction ends. */
export async function lockKnownStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<Pick<PlaceholderStation, "id">>(lockKnown, [systemId, ids]);
  return rows.map(({ id }) => id);
}

/** Inserts placeholder stations; gives the ids of those that were not there. */
export async function insertPlaceholders(
  tx: Transaction,
  systemId: string,
  origin: { readonly source: string; readonly updatedAt: string; readonly importId: string },
  placeholders: readonly PlaceholderStation[],
): Promise<string[]> {
  const rows = await tx.query<Pick<PlaceholderStation, "id">>(insertPlaceholderRows, [
    systemId,
    origin.source,
    origin.updatedAt,
    origin.importId,
    ...columns.arrays(placeholders),
  ]);
  return rows.map(({ id }) => id);
}

/** A placeholder station that an import made and that is as it made it. */
export interface UnchangedPlaceholder {
  readonly id: string;
  /** Rides, bikes, reservations or records of feeds name it. */
  readonly in_use: boolean;
}

/** Locks the placeholder stations of an import that are as it made them. */
export async function lockUnchangedPlaceholders(
  tx: Transaction,
  { systemId, importId, source, writtenAt }: PlaceholdersOfImport,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(lockUnchanged, [systemId, importId, writtenAt, source]);
  return rows.map(({ id }) => id);
}

/** An import's placeholder stations. */
export interface PlaceholdersOfImport {
  readonly systemId: string;
  readonly importId: string;
  readonly source: string;
  /** The `updated_at` with which the import created them. */
  readonly writtenAt: Date;
}

/** Returns the stations that are in use. */
export function listUses(tx: Transaction, systemId: string, ids: readonly string[]): Promise<UnchangedPlaceholder[]> {
  return tx.query<UnchangedPlaceholder>(inUse, [systemId, ids]);
}

export async function deletePlaceholders(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deletePlaceholderRows, [systemId, ids]);
}

/** Assigns placeholder stations that are in use to the imports whose rides use them. */
export async function updatePlaceholderImports(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<void> {
  await tx.query(reassign, [systemId, ids]);
}
