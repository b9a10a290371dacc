import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { historySince, MATCHES_STATION } from "../queue/threshold-sql-fragments.ts";

/*
 * Statements about the thresholds of endpoints, such as "fewer than 3 bikes for 5 minutes", and about the stations that
 * they watch.
 */

const fields = columnsOfTable("webhook_thresholds").without("system_id", "since");

/** A stored threshold of an endpoint. */
export type ThresholdRow = RowOf<typeof fields>;

const listOf = statement(
  "thresholds.list",
  `select ${fields.list()} from webhook_thresholds where system_id = $1 and endpoint_id = any($2::text[])
   order by endpoint_id, position`,
);

/** Lists the thresholds of endpoints, in their order. */
export function listThresholds(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
): Promise<ThresholdRow[]> {
  return db.query<ThresholdRow>(listOf, [systemId, endpointIds]);
}

const deleteThresholds = statement(
  "thresholds.delete",
  `delete from webhook_thresholds where system_id = $1 and endpoint_id = $2 and id <> all($3::text[]) returning id`,
);
const deleteStates = statement(
  "thresholds.deleteStates",
  `delete from webhook_threshold_states where system_id = $1 and threshold_id = any($2::text[])`,
);
const insert = statement(
  "thresholds.insert",
  `insert into webhook_thresholds as kept (system_id, ${fields.list()})
   select $1, ${fields.list()} from ${fields.recordset(2, "given")}
   on conflict (system_id, id) do update set position = excluded.position
     where kept.position <> excluded.position`,
);

/** Replaces an endpoint's thresholds. A threshold that it already had, by its id, keeps its states. */
export async function replaceThresholds(
  tx: Transaction,
  systemId: string,
  endpointId: string,
  rows: readonly ThresholdRow[],
): Promise<void> {
  const kept = rows.map(({ id }) => id);
  const deleted = await tx.query<{ id: string }>(deleteThresholds, [systemId, endpointId, kept]);
  if (deleted.length > 0) await tx.query(deleteStates, [systemId, deleted.map(({ id }) => id)]);
  if (rows.length > 0) await tx.query(insert, [systemId, JSON.stringify(rows)]);
}

// Here and below, `MATCHES_STATION` compares the row `threshold` with the row `station`.
const countWatched = statement(
  "thresholds.countWatched",
  `select count(*) as n from ${fields.recordset(2, "threshold")}
   join stations station on station.system_id = $1 and station.status <> 'removed' and ${MATCHES_STATION}`,
);

/** Counts the stations that thresholds watch, each once for every threshold that watches it. */
export async function countWatchedStations(
  db: Queryable,
  systemId: string,
  rows: readonly ThresholdRow[],
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countWatched, [systemId, JSON.stringify(rows)])).n;
}

const watchedStations = statement(
  "thresholds.watchedStations",
  `select station.id, station.region_id from stations station
   where station.system_id = $1 and exists (
     select from ${fields.recordset(2, "threshold")} where ${MATCHES_STATION})
   order by station.id`,
);

/** Lists the stations that any of some thresholds watches. */
export function listWatchedStations(
  db: Queryable,
  systemId: string,
  rows: readonly ThresholdRow[],
): Promise<Pick<Tables["stations"], "id" | "region_id">[]> {
  return db.query(watchedStations, [systemId, JSON.stringify(rows)]);
}

const histories = statement(
  "thresholds.histories",
  `select station.id, ${historySince("$3::timestamptz")} as numbers
   from stations station where station.system_id = $1 and station.id = any($2::text[])`,
);

/** The changes of a station since an instant. The first one gives its state at that instant, or when its history begins. */
export interface StationHistoryRow {
  readonly id: string;
  /** The changes as text, which `readHistory` reads; null: there are none. */
  readonly numbers: string | null;
}

/** Reads the history of stations since an instant. */
export function listHistories(
  db: Queryable,
  systemId: string,
  stationIds: readonly string[],
  since: Date,
): Promise<StationHistoryRow[]> {
  return db.query<StationHistoryRow>(histories, [systemId, stationIds, since]);
}
