import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

// The statements that write the invented past of the demo's city (`past-states.ts`). `stations.known_since` is when a
// station's history begins, and `state_since` is the time of its newest change.

const pastColumns = columnsOfTable("station_changes").without("system_id", "changed_on");

const insertPast = statement(
  "history.insertPast",
  `insert into station_changes (system_id, changed_on, ${pastColumns.list()})
   select $1, (w.at at time zone 'UTC')::date, ${pastColumns.list("w")} from ${pastColumns.unnest(2, "w")}
   order by w.station_id, w.at`,
);

const extendPast = statement(
  "history.extendPast",
  "update stations set known_since = least(known_since, $2::timestamptz) where system_id = $1",
);

const deleteStates = statement(
  "history.deleteStatesSinceButNewest",
  `delete from station_changes using stations
   where station_changes.system_id = $1 and stations.system_id = $1 and stations.id = station_changes.station_id
     and station_changes.at >= $2::timestamptz and station_changes.at < stations.state_since`,
);

/** The columns of a recorded state of a station. */
export type RecordedState = RowOf<typeof pastColumns>;

/** Records states, and sets the beginning of the history of the system's stations to `since`, if it was later. */
export async function insertPastStates(
  tx: Transaction,
  systemId: string,
  states: readonly RecordedState[],
  since: Date,
): Promise<void> {
  await tx.query(insertPast, [systemId, ...pastColumns.arrays(states)]);
  await tx.query(extendPast, [systemId, since]);
}

/**
 * Deletes the states that were recorded at an instant or later, except the newest of each station, which is its present one.
 * For the demo's city, whose invented past replaces the states that were recorded when its stations were created.
 */
export async function deleteStatesSinceButNewest(tx: Transaction, systemId: string, since: Date): Promise<void> {
  await tx.query(deleteStates, [systemId, since]);
}
