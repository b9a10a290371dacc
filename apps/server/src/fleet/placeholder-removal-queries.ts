import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";

/** A placeholder that an import made and that is as it made it. */
export interface UntouchedPlaceholder {
  readonly id: string;
  /** Rides, bikes, reservations or records of feeds name it. */
  readonly in_use: boolean;
}

// A feed or a command that claims a placeholder changes one of these columns.
const lockPlaceholders = statement(
  "placeholderRemoval.lock",
  `select id from stations
   where system_id = $1 and import_id = $2 and updated_at = $3::timestamptz and source = $4
     and status = 'offline' and offline_reason = 'removed_from_source'
     and information_as_of is null and status_as_of is null
   order by id for update`,
);

// After the placeholders are locked, so that what used one before is seen.
const inUse = statement(
  "placeholderRemoval.inUse",
  `select placeholder.id,
     exists (select from rides where system_id = $1 and start_station_id = placeholder.id)
     or exists (select from rides where system_id = $1 and end_station_id = placeholder.id)
     or placeholder.id in (select station_id from bikes where system_id = $1 and station_id is not null)
     or placeholder.id in (select reported_station_id from bikes where system_id = $1 and reported_station_id is not null)
     or placeholder.id in (select station_id from reservations where system_id = $1 and station_id is not null)
     or placeholder.id in (select station_id from gbfs_pending_station_parts where system_id = $1) as in_use
   from unnest($2::text[]) as placeholder (id) order by placeholder.id`,
);

const deletePlaceholders = statement(
  "placeholderRemoval.delete",
  "delete from stations where system_id = $1 and id = any($2::text[])",
);

// To the oldest import whose rides name the placeholder: it would have made it, had the other import not been.
const reassignPlaceholders = statement(
  "placeholderRemoval.bequeath",
  `update stations set import_id = heir.id, source = coalesce(heir.source, stations.source),
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

/** Locks the placeholders of an import that are as it made them. */
export async function lockUntouchedPlaceholders(
  tx: Transaction,
  { systemId, importId, source, writtenAt }: PlaceholdersOfImport,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(lockPlaceholders, [systemId, importId, writtenAt, source]);
  return rows.map(({ id }) => id);
}

/** An import's placeholders. */
export interface PlaceholdersOfImport {
  readonly systemId: string;
  readonly importId: string;
  readonly source: string;
  /** `updated_at` of each as the import made it. */
  readonly writtenAt: Date;
}

/** Which of these stations are in use. */
export function findUses(tx: Transaction, systemId: string, ids: readonly string[]): Promise<UntouchedPlaceholder[]> {
  return tx.query<UntouchedPlaceholder>(inUse, [systemId, ids]);
}

export async function deleteStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deletePlaceholders, [systemId, ids]);
}

/** Leaves placeholders that are in use to the imports whose rides use them. */
export async function bequeathStations(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(reassignPlaceholders, [systemId, ids]);
}
