import type { BoundingBox } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import { equals, updatedSince, within } from "../lists/conditions.ts";
import { listById } from "../lists/id-ordered-queries.ts";
import type { Page } from "../lists/page.ts";
import type { ListReader, ReadContext } from "../lists/read-context.ts";

export interface StationFilters {
  readonly status?: string | undefined;
  readonly region_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

const stations = listById("stations");

/** A page of a system's stations, ordered by id. */
export function listStations(
  context: ReadContext,
  whose: ListReader,
  { status, region_id, updated_since, bbox }: StationFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  const conditions = [
    equals("status", status),
    equals("region_id", region_id),
    updatedSince(updated_since),
    within(bbox),
  ];
  return stations.list(context, whose, conditions, request);
}

/** One station's JSON; undefined when there is none. */
export function getStation({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return stations.find(readPool, systemId, id);
}
