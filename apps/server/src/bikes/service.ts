import type { BoundingBox } from "@bikeshare/contract";
import { compare, within } from "../lists/by-id.ts";
import type { ReadContext } from "../lists/context.ts";
import { cutSlice, jsonField } from "../lists/cut.ts";
import type { ListReader } from "../lists/filtered-reads.ts";
import { fetchSize } from "../lists/rows.ts";
import { type Slice, type SliceRequest, startOf } from "../lists/slice.ts";
import { bikeList } from "./queries.ts";

export interface BikeFilters {
  readonly vehicle_state?: string | undefined;
  readonly station_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

/** One slice of a system's bikes, by id. */
export async function listBikes(
  { filtered, reader }: ReadContext,
  whose: ListReader,
  filters: BikeFilters,
  request: SliceRequest<string>,
): Promise<Slice<string>> {
  const { systemId } = whose;
  const conditions = [
    filters.vehicle_state === undefined ? undefined : compare("vehicle_state", "=", filters.vehicle_state),
    filters.station_id === undefined ? undefined : compare("station_id", "=", filters.station_id),
    filters.updated_since === undefined
      ? undefined
      : compare("updated_at", ">=", filters.updated_since, "::timestamptz"),
    filters.bbox === undefined ? undefined : within(filters.bbox),
  ].filter((condition) => condition !== undefined);
  const size = fetchSize(request.limit);
  const rows =
    conditions.length === 0
      ? await bikeList.read(reader, systemId, startOf(request), size)
      : await filtered.read(whose, (db) => bikeList.readFiltered(db, systemId, conditions, startOf(request), size));
  return cutSlice(request, rows, (json) => jsonField(json, "id"));
}

/** One bike in its JSON; undefined when there is none. */
export function getBike({ reader }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return bikeList.readOne(reader, systemId, id);
}
