import { readBoundingBox } from "@bikeshare/contract/pure";
import { commandError } from "../../command-errors.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointRow, listUnknownPlaces } from "./endpoint-queries.ts";

/** The places whose events an endpoint receives. An event at any of them suffices. */
export interface Places {
  readonly station_ids: readonly string[];
  readonly region_ids: readonly string[];
  /** `min_lon,min_lat,max_lon,max_lat`, borders included. */
  readonly bbox: string | null;
}

/** The columns of an endpoint's places. All null: it receives events from everywhere. */
export type PlaceColumns = Pick<EndpointRow, "station_ids" | "region_ids" | "bbox">;

/** Maximum stations, and maximum regions, of an endpoint. Too high: each event is compared with all of them. */
const MAX_PLACES = 200;

/** Returns an endpoint's places; null: it receives events from everywhere. */
export function placesOf({ station_ids, region_ids, bbox }: PlaceColumns): Places | null {
  if (station_ids === null && region_ids === null && bbox === null) return null;
  return { station_ids: station_ids ?? [], region_ids: region_ids ?? [], bbox: bbox?.join(",") ?? null };
}

/**
 * Returns places as columns, sorted and without duplicates.
 * @throws ServiceError when `bbox` is not a box
 */
export function placeColumns(places: Places | null): PlaceColumns {
  const listed = (ids: readonly string[] = []) => (ids.length === 0 ? null : [...new Set(ids)].toSorted());
  const text = places?.bbox ?? null;
  const box = text === null ? null : readBoundingBox(text);
  // A string says what is wrong with the text.
  if (typeof box === "string") throw commandError("invalid_parameter", "placesBox", { issue: box });
  return {
    station_ids: listed(places?.station_ids),
    region_ids: listed(places?.region_ids),
    bbox: box && [box.west, box.south, box.east, box.north],
  };
}

/**
 * Requires that places exist: a mistyped id would silence an endpoint.
 * @param path that of the places in the request, which errors name
 * @throws ServiceError when there is no place, there are too many, or a station or region does not exist
 */
export async function requireKnownPlaces(
  db: Queryable,
  systemId: string,
  places: Places,
  path = "places",
): Promise<void> {
  const { station_ids: stations, region_ids: regions, bbox } = places;
  if (stations.length + regions.length === 0 && bbox === null) throw commandError("invalid_parameter", "noPlaces");
  const pathOf = (kind: "station" | "region") => `${path}.${kind}_ids`;
  if (Math.max(stations.length, regions.length) > MAX_PLACES) {
    const kind = stations.length > MAX_PLACES ? "station" : "region";
    throw commandError("invalid_parameter", "tooManyPlaces", { path: pathOf(kind), limit: MAX_PLACES });
  }
  const [unknown] = await listUnknownPlaces(db, systemId, places);
  if (unknown === undefined) return;
  const { kind, id } = unknown;
  throw commandError("invalid_parameter", "unknownPlace", { path: pathOf(kind), kind, id: JSON.stringify(id) });
}
