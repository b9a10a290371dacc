import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";

const columns = columnsOfTable("station_changes").without("system_id", "changed_on");

const insert = statement(
  "history.insertPast",
  `insert into station_changes (system_id, changed_on, ${columns.list()})
   select $1, (w.at at time zone 'UTC')::date, ${columns.list("w")} from ${columns.unnest(2, "w")}
   order by w.station_id, w.at`,
);

const extend = statement(
  "history.extendPast",
  "update stations set known_since = least(known_since, $2::timestamptz) where system_id = $1",
);

const deleteCreationRows = statement(
  "history.deleteCreation",
  `delete from station_changes using stations
   where station_changes.system_id = $1 and stations.system_id = $1 and stations.id = station_changes.station_id
     and station_changes.at >= $2::timestamptz and station_changes.at < stations.state_since`,
);

/** A state of a station that is recorded. */
export type RecordedState = RowOf<typeof columns>;

/** Records states, and that the history of the system's stations begins with them. */
export async function insertPastStates(
  tx: Transaction,
  systemId: string,
  states: readonly RecordedState[],
  since: Date,
): Promise<void> {
  await tx.query(insert, [systemId, ...columns.arrays(states)]);
  await tx.query(extend, [systemId, since]);
}

/** Deletes the first states of stations that were created since an instant: their invented past replaces these. Keeps the latest state. */
export async function deleteCreation(tx: Transaction, systemId: string, since: Date): Promise<void> {
  await tx.query(deleteCreationRows, [systemId, since]);
}
