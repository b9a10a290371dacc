import type { Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import { forgetDeleted } from "../history/changes-sql-fragments.ts";

/*
 * The statements that empty the city of a sandbox, before it gets another one or when nobody uses it, and the one that begins
 * the history of a city which has just been made.
 */

// Locks rows by id, as commands do. A deletion alone locks them as they lie in the table.
const lockRows = (["bikes", "rides", "reservations", "stations", "rider_alerts"] as const).map((table) =>
  statement(
    `clearCity.lock.${table}`,
    `select count(*) as n from (select 1 from ${table} where system_id = $1 order by id for update) as locked`,
  ),
);

const deleteBikes = statement(
  "clearCity.bikes",
  "with deleted as (delete from bikes where system_id = $1 returning 1) select count(*) as n from deleted",
);
const deleteRides = statement("clearCity.rides", "delete from rides where system_id = $1 returning started_at");
// `forgetDeleted` deletes the history of the deleted stations.
const deleteStations = statement(
  "clearCity.stations",
  `with deleted as (delete from stations where system_id = $1 returning id), ${forgetDeleted("deleted")}
   select count(*) as n from deleted`,
);

const deleteReservations = statement("clearCity.reservations", "delete from reservations where system_id = $1");

/**
 * Tables whose rows refer to stations, bikes and rides or are derived from them. `sum_progress` comes before the sums:
 * whoever writes sums locks it first.
 */
const DERIVED = [
  "rider_alerts",
  "removed_bikes",
  "retired_public_ids",
  "sum_progress",
  "station_hours",
  "flow_days",
  "flow_marks",
  "ride_quarters",
  "fleet_samples",
  "sum_marks",
  "webhook_station_notices",
  "webhook_threshold_states",
  "webhook_threshold_stations",
  "idempotency_keys",
] as const;

const deleteDerived = DERIVED.map((table) =>
  statement(`clearCity.${table}`, `delete from ${table} where system_id = $1`),
);

// `-infinity`: the state has not changed since `known_since`, at which the history begins.
const beginHistory = statement(
  "history.beginAnew",
  "update stations set state_since = '-infinity', known_since = $2 where system_id = $1",
);
const deleteStationChanges = statement("clearCity.changes", "delete from station_changes where system_id = $1");

/** The rows of a city that were deleted. */
export interface ClearedCity {
  readonly bikes: number;
  readonly stations: number;
  /** The start time of each deleted ride: the numbers of rides are kept by it. */
  readonly rides: readonly Date[];
}

/**
 * Deletes the rows of a system's city, then the rows of `DERIVED`. First locks the rows in the order in which commands lock
 * them, so that the two cannot deadlock.
 */
export async function deleteCity(tx: Transaction, systemId: string): Promise<ClearedCity> {
  for (const each of lockRows) await tx.query(each, [systemId]);
  const { n: bikes } = oneRow(await tx.query<{ n: number }>(deleteBikes, [systemId]));
  const rides = await tx.query<{ started_at: Date }>(deleteRides, [systemId]);
  await tx.query(deleteReservations, [systemId]);
  const { n: stations } = oneRow(await tx.query<{ n: number }>(deleteStations, [systemId]));
  for (const each of deleteDerived) await tx.query(each, [systemId]);
  return { bikes, stations, rides: rides.map((ride) => ride.started_at) };
}

/**
 * Begins the history of a new city's stations at an instant, with their current states. Deletes the changes that making the
 * city has left.
 */
export async function updateHistoryBegin(tx: Transaction, systemId: string, since: Date): Promise<void> {
  await tx.query(deleteStationChanges, [systemId]);
  await tx.query(beginHistory, [systemId, since]);
}
