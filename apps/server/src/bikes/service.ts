import type { BoundingBox } from "@bikeshare/contract";
import { listFilters, type PageRequest } from "@bikeshare/rules";
import { conditionsOf } from "../lists/conditions.ts";
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
  filters: BikeFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return bikes.list(context, whose, conditionsOf(listFilters.bikes, filters), request);
}

/** One bike's JSON; undefined when there is none. */
export function getBike({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return bikes.find(readPool, systemId, id);
}
