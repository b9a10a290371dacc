import { listFilters, type PageRequest } from "@bikeshare/rules";
import { type ChangePage, type ChangeRange, listChanges } from "../../storage/lists/change-queries.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import {
  type Page,
  type PageRows,
  startOf,
  type TimePosition,
  timePositionOf,
  toPage,
} from "../../storage/lists/page.ts";
import type { ListReader, ReadContext } from "../../storage/lists/read-context.ts";
import { needsDays } from "./asked-rides.ts";
import { listCountedRideRows, listFilteredRideRows, listQuickRideRows, type RideFilters } from "./filtered-queries.ts";
import type { RideMemory } from "./memory.ts";
import { findRide, listRideRows, listRideRowsAt, listRideRowsFrom } from "./queries.ts";

export type { RideFilters } from "./filtered-queries.ts";

/** The dependencies of reading rides. */
export interface RideContext extends ReadContext, RideMemory {}

/** Returns a page of a system's rides, newest start first. */
export async function listRides(
  context: RideContext,
  whose: ListReader,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
): Promise<Page<TimePosition>> {
  const { systemId } = whose;
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const rows = isFiltered
    ? await listFilteredRides(context, whose, filters, request)
    : await listAllRides(context, systemId, request);
  return toPage(request, rows, (json) => timePositionOf(json, "started_at"));
}

/** Returns a page of what has changed among a system's rides, in the order of the changes. */
export function listRideChanges(
  context: ReadContext,
  whose: ListReader,
  filters: RideFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  const rows = [{ table: "rides", json: "json", condition: "system_id = $1" }];
  const conditions = conditionsOf(listFilters.rides, filters);
  return listChanges(context, whose, { name: "rides", rows, values: [whose.systemId], filters: conditions }, range);
}

/** Maximum number of tries with remembered numbers, while past rides keep changing. Then rides are counted one by one. */
const MAX_ATTEMPTS = 4;

/**
 * Returns a page of a filtered list. Reads a quick page at once. A page that may take long waits until it is one of the
 * few long reads that run at a time (`filtered`).
 */
async function listFilteredRides(
  { readPool, filtered, pastCounts, days }: RideContext,
  whose: ListReader,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  const { systemId } = whose;
  const quick = await listQuickRideRows(readPool, systemId, filters, request, pastCounts);
  if (quick !== undefined) return quick;
  // Only these requests need all past days. The first page of a status needs few, because the numbers of rides are
  // stored.
  const isPatient = request.kind === "page" || filters.updated_since !== undefined;
  let known = needsDays(filters) ? await days.known(systemId, isPatient) : undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const asOf = known;
    const rows = await filtered.read(whose, (db) =>
      listFilteredRideRows(db, systemId, filters, request, pastCounts, asOf),
    );
    if (rows !== undefined) return rows;
    if (known !== undefined) known = await days.renew(systemId, known);
  }
  return filtered.read(whose, (db) => listCountedRideRows(db, systemId, filters, request));
}

/**
 * Returns a page of the unfiltered list. A page by number is found by the depth index (the remembered numbers of rides
 * before each hour) if that is up to date.
 */
async function listAllRides(
  { readPool, depths }: RideContext,
  systemId: string,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  const { limit } = request;
  const start = startOf(request);
  if ("after" in start) return listRideRows(readPool, systemId, start.after, limit);
  if (start.skip === 0) return listRideRows(readPool, systemId, undefined, limit);
  const depth = depths.locate(systemId, start.skip);
  if (depth !== undefined) {
    const { rows, holds } = await listRideRowsAt(readPool, systemId, depth, start.skip, limit);
    depths.observe(systemId, rows);
    if (holds) return rows;
  }
  const rows = await listRideRowsFrom(readPool, systemId, start.skip, limit);
  depths.observe(systemId, rows);
  return rows;
}

/** Returns a ride's JSON; undefined when there is no such ride. */
export function getRide({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return findRide(readPool, systemId, id);
}
