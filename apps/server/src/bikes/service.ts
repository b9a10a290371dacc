import type { BoundingBox } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import { equals, updatedSince, within } from "../lists/conditions.ts";
import { listById } from "../lists/id-ordered-queries.ts";
import type { Page } from "../lists/page.ts";
import type { ListReader, ReadContext } from "../lists/read-context.ts";

export interface BikeFilters {
  readonly vehicle_state?: string | undefined;
  readonly station_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

const bikes = listById("bikes");

/** A page of a system's bikes, ordered by id. */
export function listBikes(
  context: ReadContext,
  whose: ListReader,
  { vehicle_state, station_id, updated_since, bbox }: BikeFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  const conditions = [
    equals("vehicle_state", vehicle_state),
    equals("station_id", station_id),
    updatedSince(updated_since),
    within(bbox),
  ];
  return bikes.list(context, whose, conditions, request);
}

/** One bike's JSON; undefined when there is none. */
export function getBike({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return bikes.find(readPool, systemId, id);
}
