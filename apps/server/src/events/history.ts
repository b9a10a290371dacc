import type { Queryable } from "../storage/db/database.ts";
import { listStationEvents, type StationEvent } from "./history-queries.ts";

/** Events of one name that are looked at for one station's history: some milliseconds. */
const SCAN_LIMIT = 5_000;
/** Changes that are shown. */
const SHOWN_LIMIT = 100;

/** When a station went offline and came back. */
export interface StationHistory {
  readonly changes: readonly (Omit<StationEvent, "name" | "occurred_at"> & {
    readonly event: string;
    readonly at: string;
  })[];
  /** Back to when was looked, where there may be older changes; null: there are none. */
  readonly searchedTo: string | null;
}

/** The changes of a station in the events list, the newest first. */
export async function stationHistory(
  { db }: { readonly db: Queryable },
  systemId: string,
  stationId: string,
  scanLimit = SCAN_LIMIT,
): Promise<StationHistory> {
  const bounds = { scanLimit, limit: SHOWN_LIMIT };
  const { changes, scanned, searched_to: oldest } = await listStationEvents(db, systemId, stationId, bounds);
  return {
    changes: changes.map(({ name, occurred_at: at, ...change }) => ({ ...change, event: name, at })),
    searchedTo: scanned >= scanLimit ? oldest : null,
  };
}
