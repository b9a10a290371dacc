import type { BoundingBox } from "@bikeshare/contract";
import { type FreeBikes, MAX_MAPPED_BIKES } from "@bikeshare/contract/console";
import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { Queryable } from "../../storage/db/database.ts";
import { type ChangePage, type ChangeRange, listChanges } from "../../storage/lists/change-queries.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { listById } from "../../storage/lists/id-ordered-queries.ts";
import type { Page } from "../../storage/lists/page.ts";
import type { ListReader, ReadContext } from "../../storage/lists/read-context.ts";
import { listFreeBikes } from "./map-queries.ts";

export interface BikeFilters {
  readonly vehicle_state?: string | undefined;
  readonly station_id?: string | undefined;
  readonly bbox?: BoundingBox | undefined;
  readonly updated_since?: string | undefined;
}

const bikes = listById("bikes", listFilters.bikes);

/** Returns a page of a system's bikes, ordered by id. */
export function listBikes(
  context: ReadContext,
  whose: ListReader,
  filters: BikeFilters,
  request: PageRequest<string>,
): Promise<Page<string>> {
  return bikes.list(context, whose, filters, request);
}

/** A bike that is there no more, since its feed gave it up. Nothing else is known of it. */
const removed = {
  table: "removed_bikes",
  json: "bike_json(id, null, null, 'removed', null, null, null, null, null, to_timestamp(change_position / 1e6))",
  condition: "system_id = $1",
  isUnfiltered: true,
};

/** Returns a page of the changes of a system's bikes, in the order of the changes. */
export function listBikeChanges(
  context: ReadContext,
  whose: ListReader,
  filters: BikeFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  const conditions = conditionsOf(listFilters.bikes, filters);
  const { vehicle_state: state = "removed", station_id: station, bbox } = filters;
  const showsRemoved = state === "removed" && station === undefined && bbox === undefined;
  const present = { table: "bikes", json: "json", condition: "system_id = $1" };
  const rows = showsRemoved ? [present, removed] : [present];
  return listChanges(context, whose, { name: "bikes", rows, values: [whose.systemId], filters: conditions }, range);
}

/** One bike's JSON; undefined when there is none. */
export function getBike({ readPool }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return bikes.find(readPool, systemId, id);
}

/** Returns the available bikes that stand at no station, as a map shows them. */
export async function freeBikes(db: Queryable, systemId: string): Promise<FreeBikes> {
  const found = await listFreeBikes(db, systemId, MAX_MAPPED_BIKES + 1);
  return { data: found.slice(0, MAX_MAPPED_BIKES), is_complete: found.length <= MAX_MAPPED_BIKES };
}
