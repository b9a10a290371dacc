import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** What there is of a feed's source, in numbers. */
export interface SourceState {
  readonly stations: number;
  readonly bikes: number;
  /** Stations and bikes that are not as the import wrote them. */
  readonly changed: number;
  /** Rides, reservations and bikes of others that name one of the stations or bikes. */
  readonly uses: number;
}

const lockSource = statement(
  "sourceRemoval.lockSource",
  "select source from gbfs_sources where system_id = $1 and source = $2 for update",
);

// Also the stations of others at which the source's bikes stand, whose counters will change: locked in one order with the
// source's own, so that no other command waits for this one while this one waits for it.
const lockStations = statement(
  "sourceRemoval.lockStations",
  `select id from stations
   where system_id = $1 and (source = $2 or id in (
     select station_id from bikes where system_id = $1 and source = $2 and station_id is not null))
   order by id for update`,
);

const lockBikes = statement(
  "sourceRemoval.lockBikes",
  "select id from bikes where system_id = $1 and source = $2 order by id for update",
);

// Each look-up of rides goes by an index; bikes and reservations are read once.
const state = statement(
  "sourceRemoval.state",
  `with station as (select id, updated_at from stations where system_id = $1 and source = $2),
     bike as (select id, updated_at from bikes where system_id = $1 and source = $2)
   select (select count(*) from station) as stations, (select count(*) from bike) as bikes,
     (select count(*) from station where updated_at <> $3::timestamptz)
       + (select count(*) from bike where updated_at <> $3::timestamptz) as changed,
     (select count(*) from station where
       exists (select from rides where system_id = $1 and start_station_id = station.id)
       or exists (select from rides where system_id = $1 and end_station_id = station.id)
       or id in (select station_id from reservations where system_id = $1 and station_id is not null)
       or id in (select station_id from bikes where system_id = $1 and station_id is not null and source <> $2)
       or id in (select reported_station_id from bikes
                 where system_id = $1 and reported_station_id is not null and source <> $2))
       + (select count(*) from bike where
       exists (select from rides where system_id = $1 and bike_id = bike.id)
       or id in (select bike_id from reservations where system_id = $1)) as uses`,
);

const deleteStations = statement(
  "sourceRemoval.deleteStations",
  "delete from stations where system_id = $1 and source = $2 returning id",
);

const deleteBikes = statement(
  "sourceRemoval.deleteBikes",
  "delete from bikes where system_id = $1 and source = $2 returning station_id",
);

const deleteKnowledge = [
  "gbfs_pending_station_parts",
  "gbfs_descriptions",
  "gbfs_feed_health",
  "gbfs_source_health",
  "gbfs_sources",
].map((table) =>
  statement(`sourceRemoval.delete.${table}`, `delete from ${table} where system_id = $1 and source = $2`),
);

/** Locks a source, so that no snapshot of it is applied, and its stations and bikes. Bikes first, as in every command. */
export async function lockSourceRows(tx: Transaction, systemId: string, source: string): Promise<void> {
  for (const lock of [lockSource, lockBikes, lockStations]) await tx.query(lock, [systemId, source]);
}

/** @param writtenAt `updated_at` of what the import wrote */
export async function findSourceState(
  db: Queryable,
  systemId: string,
  source: string,
  writtenAt: Date,
): Promise<SourceState> {
  return oneRow(await db.query<SourceState>(state, [systemId, source, writtenAt]));
}

/** A source that was deleted. */
export interface DeletedSource {
  readonly stations: number;
  /** The station of each of its bikes; null: none. */
  readonly bikes: readonly (string | null)[];
}

/** Deletes a source that is locked, with its stations and bikes. */
export async function deleteSource(tx: Transaction, systemId: string, source: string): Promise<DeletedSource> {
  const bikes = await tx.query<Pick<Tables["bikes"], "station_id">>(deleteBikes, [systemId, source]);
  const stations = await tx.query(deleteStations, [systemId, source]);
  for (const statementOf of deleteKnowledge) await tx.query(statementOf, [systemId, source]);
  return { stations: stations.length, bikes: bikes.map(({ station_id: stationId }) => stationId) };
}
