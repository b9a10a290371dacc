import type { BoundingBox } from "@bikeshare/contract";
import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { Queryable } from "../../storage/db/database.ts";
import { type ChangePage, type ChangeRange, listChanges } from "../../storage/lists/change-queries.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { listById } from "../../storage/lists/id-ordered-queries.ts";
import type { Page } from "../../storage/lists/page.ts";
import type { ListReader, ReadContext } from "../../storage/lists/read-context.ts";
import { listStationsForMap, type StationMapRow } from "./queries.ts";

/** The filters of a request for stations, as the contract describes them. An absent one matches every station. */
export interface StationFilters {
  readonly status?: string | undefined;
  readonly region_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

const stations = listById("stations", listFilters.stations);

/** Returns a page of a system's stations, ordered by id. */
export function listStations(
  context: ReadContext,
  whose: ListReader,
  filters: StationFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return stations.list(context, whose, filters, request);
}

/** Returns a page of what has changed among a system's stations, in the order of the changes. */
export function listStationChanges(
  context: ReadContext,
  whose: ListReader,
  filters: StationFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  const rows = [{ table: "stations", json: "json", condition: "system_id = $1" }];
  const conditions = conditionsOf(listFilters.stations, filters);
  return listChanges(context, whose, { name: "stations", rows, values: [whose.systemId], filters: conditions }, range);
}

/** Returns a station's JSON; undefined when there is no such station. */
export function getStation({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return stations.find(readPool, systemId, id);
}

/** Returns the stations of a system for a map, including planned and excluding removed ones. */
export function stationsForMap(db: Queryable, systemId: string): Promise<StationMapRow[]> {
  return listStationsForMap(db, systemId);
}
