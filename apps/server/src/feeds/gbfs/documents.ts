import type { VehicleReport } from "../../fleet/bike.ts";
import type { StationInformation, StationReadings } from "../../fleet/station.ts";
import { readDescription, type Description } from "./descriptions.ts";
import { discoveredFeeds, type DiscoveredFeeds } from "./discovery.ts";
import { parseBounded } from "./document-bounds.ts";
import { FeedFailure, type Feed } from "./feed.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./forms.ts";
import { instantFrom, isObject, numberFrom } from "./values.ts";

/** The documents of a source that we use, by the names that GBFS gives them, and what is read in each. */
export interface Documents {
  readonly gbfs: DiscoveredFeeds;
  readonly station_information: Feed<StationInformation>;
  readonly station_status: Feed<StationReadings>;
  readonly vehicle_status: Feed<VehicleReport>;
  readonly free_bike_status: Feed<VehicleReport>;
  readonly system_information: Description;
  readonly vehicle_types: Description;
  readonly system_regions: Description;
}

export type DocumentName = keyof Documents;

/** What a document says, and until when it will not say anything else. */
export interface DocumentReading<Name extends DocumentName = DocumentName> {
  readonly content: Documents[Name];
  /** Milliseconds since 1970, by what the document says of its own age and time to live. */
  readonly changesAt: number;
}

/**
 * Milliseconds for which a feed's word that it will not change is believed at most. Higher and a feed that claims a
 * day hides its changes for a day; lower and feeds that ask for rest are asked all the same.
 */
const MAX_TTL_MS = 10 * 60_000;

const readers: { readonly [Name in DocumentName]: (document: unknown, now: number) => Documents[Name] } = {
  gbfs: readDiscovery,
  station_information: readStationInformation,
  station_status: readStationStatus,
  vehicle_status: (document, now) => readVehicles("vehicle_status", document, now),
  free_bike_status: (document, now) => readVehicles("free_bike_status", document, now),
  system_information: (document, now) => readDescription("system_information", document, now),
  vehicle_types: (document, now) => readDescription("vehicle_types", document, now),
  system_regions: (document, now) => readDescription("system_regions", document, now),
};

/**
 * Reads a document's bytes, within bounds.
 * @param now milliseconds since 1970
 * @throws FeedFailure when nothing in it can be used
 */
export function readDocument<Name extends DocumentName>(
  name: Name,
  bytes: Uint8Array,
  now: number,
): DocumentReading<Name> {
  const document = parsed(name, bytes);
  return { content: readers[name](document, now), changesAt: nextChange(document, now) };
}

function parsed(name: DocumentName, bytes: Uint8Array): unknown {
  try {
    return parseBounded(bytes);
  } catch (error) {
    throw new FeedFailure(name, error instanceof Error ? error.message : String(error));
  }
}

function readDiscovery(document: unknown): DiscoveredFeeds {
  const feeds = discoveredFeeds(document);
  if (feeds === undefined) throw new FeedFailure("gbfs", "it has no list of feeds");
  return feeds;
}

/** When a document may change next; a clock that is ahead counts as ours. */
function nextChange(document: unknown, now: number): number {
  if (!isObject(document)) return now;
  const made = Math.min(instantFrom(document["last_updated"]) ?? now, now);
  const ttl = Math.max(0, numberFrom(document["ttl"]) ?? 0) * 1000;
  return made + Math.min(ttl, MAX_TTL_MS);
}
