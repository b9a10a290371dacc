import { readBoundingBox } from "@bikeshare/contract/pure";
import { commandError } from "../../command-errors.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { type EndpointScope, expandEvents, requirePartner } from "./endpoint-context.ts";
import { countPastEvents, type EndpointRow, listUnknownPlaces } from "./endpoint-queries.ts";

/** The places whose events an endpoint is sent: any of these. */
export interface Places {
  readonly station_ids: readonly string[];
  readonly region_ids: readonly string[];
  /** `min_lon,min_lat,max_lon,max_lat`, borders included. */
  readonly bbox: string | null;
}

/** The columns that hold an endpoint's places; all null: everywhere. */
export type PlaceColumns = Pick<EndpointRow, "station_ids" | "region_ids" | "bbox">;

/** Stations or regions that an endpoint may name. Too high: each event compares with all of them. */
const MAX_PLACES = 200;

/** Returns an endpoint's places; null: everywhere. */
export function placesOf({ station_ids, region_ids, bbox }: PlaceColumns): Places | null {
  if (station_ids === null && region_ids === null && bbox === null) return null;
  return { station_ids: station_ids ?? [], region_ids: region_ids ?? [], bbox: bbox?.join(",") ?? null };
}

/**
 * Returns the columns of places, each in one order and once.
 * @throws ServiceError when the box is none
 */
export function placeColumns(places: Places | null): PlaceColumns {
  const listed = (ids: readonly string[] = []) => (ids.length === 0 ? null : [...new Set(ids)].toSorted());
  const text = places?.bbox ?? null;
  const box = text === null ? null : readBoundingBox(text);
  if (typeof box === "string") throw commandError("invalid_parameter", "placesBox", { issue: box });
  return {
    station_ids: listed(places?.station_ids),
    region_ids: listed(places?.region_ids),
    bbox: box && [box.west, box.south, box.east, box.north],
  };
}

/**
 * Checks that places are few and known, so that a mistyped id does not silence an endpoint.
 * @throws ServiceError
 */
export async function requireKnownPlaces(db: Queryable, systemId: string, places: Places): Promise<void> {
  const { station_ids: stations, region_ids: regions, bbox } = places;
  if (stations.length + regions.length === 0 && bbox === null) throw commandError("invalid_parameter", "noPlaces");
  if (Math.max(stations.length, regions.length) > MAX_PLACES)
    throw commandError("invalid_parameter", "tooManyPlaces", { limit: MAX_PLACES });
  const [unknown] = await listUnknownPlaces(db, systemId, places);
  if (unknown !== undefined)
    throw commandError("invalid_parameter", "unknownPlace", { kind: unknown.kind, id: JSON.stringify(unknown.id) });
}

/** What an endpoint would have been sent. */
export interface Preview {
  readonly since: Date;
  readonly until: Date;
  readonly deliveries: number;
  readonly by_event: readonly { readonly event: string; readonly deliveries: number }[];
  /** False: there are more events than are looked at, of which these are the latest. */
  readonly is_complete: boolean;
}

const DAY_MS = 86_400_000;
/** Events that one preview looks at: all of a day of a large city. Too high: one request reads for seconds. */
const MAX_PREVIEWED = 100_000;

/**
 * Counts the events of the last 24 hours that an endpoint with these settings would have been sent. Notices
 * (`station.updated`, `bike.state_changed`) are not kept, and so not counted. Stations are looked up as they are now.
 * @throws ServiceError when there is no such partner, or a place is unknown
 */
export async function previewEndpoint(
  { db, clock }: { readonly db: Queryable; readonly clock: () => number },
  scope: EndpointScope,
  { events, places }: { readonly events: readonly string[]; readonly places: Places | null },
): Promise<Preview> {
  await requirePartner({ db }, scope);
  if (places !== null) await requireKnownPlaces(db, scope.systemId, places);
  const until = new Date(clock());
  const since = new Date(until.getTime() - DAY_MS);
  const wanted = { ...placeColumns(places), events: expandEvents(events) };
  const { looked, counts } = await countPastEvents(db, scope, wanted, { since, limit: MAX_PREVIEWED });
  return {
    ...{ since, until },
    deliveries: counts.reduce((sum, each) => sum + each.deliveries, 0),
    by_event: counts,
    is_complete: looked < MAX_PREVIEWED,
  };
}
