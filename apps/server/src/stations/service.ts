import type { BoundingBox } from "@bikeshare/contract";
import { compare, within } from "../lists/by-id.ts";
import type { ReadContext } from "../lists/context.ts";
import { cutSlice, jsonField } from "../lists/cut.ts";
import type { ListReader } from "../lists/filtered-reads.ts";
import { fetchSize } from "../lists/rows.ts";
import { type Slice, type SliceRequest, startOf } from "../lists/slice.ts";
import { stationList } from "./queries.ts";

export interface StationFilters {
  readonly status?: string | undefined;
  readonly region_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

/** One slice of a system's stations, by id. */
export async function listStations(
  { filtered, reader }: ReadContext,
  whose: ListReader,
  filters: StationFilters,
  request: SliceRequest<string>,
): Promise<Slice<string>> {
  const { systemId } = whose;
  const conditions = [
    filters.status === undefined ? undefined : compare("status", "=", filters.status),
    filters.region_id === undefined ? undefined : compare("region_id", "=", filters.region_id),
    filters.updated_since === undefined
      ? undefined
      : compare("updated_at", ">=", filters.updated_since, "::timestamptz"),
    filters.bbox === undefined ? undefined : within(filters.bbox),
  ].filter((condition) => condition !== undefined);
  const size = fetchSize(request.limit);
  const rows =
    conditions.length === 0
      ? await stationList.read(reader, systemId, startOf(request), size)
      : await filtered.read(whose, (db) => stationList.readFiltered(db, systemId, conditions, startOf(request), size));
  return cutSlice(request, rows, (json) => jsonField(json, "id"));
}

/** One station in its JSON; undefined when there is none. */
export function getStation({ reader }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return stationList.readOne(reader, systemId, id);
}
