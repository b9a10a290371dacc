import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { CHANGED } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import { forgetDeleted } from "../history/changes-sql-fragments.ts";

/*
 * The statements that create, lock, pass on and delete the placeholder stations of imports: stations that only the rides of
 * an import name (`placeholder-stations.ts`). `CHANGED` gives a row a new position in the order of changes, which clients
 * follow. `forgetDeleted` deletes the history of deleted stations.
 */

const columns = columnsOfTable("stations").only("id", "name", "lat", "lon");

/** The columns of a placeholder station whose values come from records of rides. */
export type PlaceholderStation = RowOf<typeof columns>;

const known = statement("placeholders.known", "select id from stations where system_id = $1 and id = any($2::text[])");

// When another transaction is deleting a station, the lock waits for that transaction, and then does not return the station.
const lockKnown = statement(
  "placeholders.lockKnown",
  "select id from stations where system_id = $1 and id = any($2::text[]) order by id for key share",
);

// `was_installed` is true, because rides began or ended at the station: it is a former station, not a planned one.
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

// Runs after the placeholders are locked, so that it sees every earlier use of them.
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

// The statement only writes: its final `select` has no columns.
const deletePlaceholderRows = statement(
  "placeholders.delete",
  `with deleted as (delete from stations where system_id = $1 and id = any($2::text[]) returning id),
   ${forgetDeleted("deleted")}
   select`,
);

// The new owner is the oldest import whose rides name the placeholder: without the undone import, that import would have
// created the placeholder. Without such an import the placeholder belongs to no import, and keeps its source and time.
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

/** Returns the ids of stations that exist. */
export async function listKnownStations(db: Queryable, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<Pick<PlaceholderStation, "id">>(known, [systemId, ids]);
  return rows.map(({ id }) => id);
}

/** Returns the ids of stations that exist. Until the transaction ends nobody else can delete these stations. */
export async function lockKnownStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<Pick<PlaceholderStation, "id">>(lockKnown, [systemId, ids]);
  return rows.map(({ id }) => id);
}

/** Inserts the placeholder stations whose ids are free. @returns the inserted ids */
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

/** A placeholder station that has not changed since an import created it. */
export interface UnchangedPlaceholder {
  readonly id: string;
  /** Rides, bikes, reservations or records of feeds name it. */
  readonly in_use: boolean;
}

/** Locks the placeholder stations that have not changed since the import created them. @returns their ids */
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

/** Returns for each placeholder station whether it is in use. */
export function listUses(tx: Transaction, systemId: string, ids: readonly string[]): Promise<UnchangedPlaceholder[]> {
  return tx.query<UnchangedPlaceholder>(inUse, [systemId, ids]);
}

/** Deletes locked placeholder stations, and their history. */
export async function deletePlaceholders(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deletePlaceholderRows, [systemId, ids]);
}

/** Assigns each placeholder station to the oldest import whose rides use it; to no import when none does. */
export async function updatePlaceholderImports(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<void> {
  await tx.query(reassign, [systemId, ids]);
}
