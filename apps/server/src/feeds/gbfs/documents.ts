import type { VehicleReport } from "../../fleet/bike-snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../fleet/station.rules.ts";
import { readDescription, type Description } from "./descriptions.ts";
import { discoveredFeeds, type DiscoveredFeeds } from "./discovery.ts";
import { FeedFailure, type Feed, readStationInformation, readStationStatus, readVehicles } from "./feed.ts";
import { instantFrom, isObject, numberFrom } from "./values.ts";

/** The documents of a source that we use, by the names that GBFS gives them, and what is read in each. */
export interface Documents {
  readonly gbfs: DiscoveredFeeds;
  readonly station_information: Feed<StationInformation>;
  readonly station_status: Feed<StationStatusReport>;
  readonly vehicle_status: Feed<VehicleReport>;
  readonly free_bike_status: Feed<VehicleReport>;
  readonly system_information: Description;
  readonly vehicle_types: Description;
  readonly system_regions: Description;
}

export type DocumentName = keyof Documents;

/** What a document says, and until when it will not say anything else. */
export interface DocumentContent<Name extends DocumentName = DocumentName> {
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
): DocumentContent<Name> {
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

/**
 * Bytes of a document, unpacked. The largest known feeds have 15 MB; lower refuses them, higher multiplies with what
 * parsing makes of each byte.
 */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
/**
 * JSON values in a document. 26,000 vehicles of 20 fields are half a million; higher lets a document of small objects
 * take thirty times its size in memory.
 */
const MAX_VALUES = 1_000_000;
/** Levels of objects and lists. Feeds have six; a geofence has ten. */
const MAX_DEPTH = 64;

/** A document is larger than is read. */
export function tooLarge(maxBytes = MAX_DOCUMENT_BYTES): Error {
  const mebibyte = 1024 * 1024;
  const size = maxBytes >= mebibyte ? `${maxBytes / mebibyte} MiB` : `${maxBytes} bytes`;
  return new Error(`it is larger than ${size}`);
}

/**
 * Parses JSON whose cost is known before it is parsed: the parser itself knows no bounds.
 * @throws Error when the bytes are no JSON, or too much of it
 */
export function parseBounded(bytes: Uint8Array): unknown {
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) throw tooLarge();
  checkExtent(bytes);
  try {
    // Drops a byte order mark, which JSON.parse would refuse.
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new Error("it is not JSON", { cause: error });
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b] as const;
const CLOSING = [0x5d, 0x7d] as const;

/** Counts what makes a value and a level; whether it is JSON at all is for the parser to say. */
function checkExtent(bytes: Uint8Array): void {
  let values = 0;
  let depth = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isText) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) values++;
    else if (byte === OPENING[0] || byte === OPENING[1]) {
      values++;
      if (++depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`);
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) depth--;
    if (values > MAX_VALUES) throw new Error(`it has more than ${MAX_VALUES.toLocaleString("en")} values`);
  }
}
