import type { VehicleReport } from "../../city/fleet/bike-snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../city/fleet/station.rules.ts";
import { parseBounded } from "./bounded-json.ts";
import { contentDigest, type DocumentAge } from "./data-age.rules.ts";
import { readDescription, type Description } from "./descriptions.ts";
import { type Feed, lastUpdatedOf } from "./feed.ts";
import { MAX_STATIONS, MAX_VEHICLES, readStationInformation, readStationStatus, readVehicles } from "./fleet-feeds.ts";
import { FeedFailure } from "./problems.ts";
import { instantFrom, isObject, numberFrom, type JsonObject } from "./values.ts";

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

/** What is read in a document, and until when it will not change. */
export interface DocumentContent<Name extends DocumentName = DocumentName> {
  readonly content: Documents[Name];
  /** Milliseconds since 1970, from the document's `last_updated` and `ttl`. */
  readonly changesAt: number;
  /** Null: its data do not age. */
  readonly age: DocumentAge | null;
}

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

const maxRecords: { readonly [Name in DocumentName]?: number } = {
  station_information: MAX_STATIONS,
  station_status: MAX_STATIONS,
  vehicle_status: MAX_VEHICLES,
  free_bike_status: MAX_VEHICLES,
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
  let document: unknown;
  try {
    document = parseBounded(bytes, maxRecords[name]);
  } catch (error) {
    throw FeedFailure.from(name, error);
  }
  const content = readers[name](document, now);
  return { content, changesAt: nextChange(document, now), age: ageOf(name, content, document, now) };
}

/** The feeds whose data age. */
const AGEING: ReadonlySet<DocumentName> = new Set(["station_status", "vehicle_status", "free_bike_status"]);

function ageOf(name: DocumentName, content: Documents[DocumentName], document: unknown, now: number) {
  if (!AGEING.has(name)) return null;
  const ttlMs = isObject(document) ? ttlOf(document) : 0;
  // The names say that it is a feed of stations' states or of vehicles.
  const digest = contentDigest(content as Parameters<typeof contentDigest>[0]);
  return { at: lastUpdatedOf(document, now) ?? null, digest, ttlMs };
}

/**
 * Milliseconds for which a feed is believed that it does not change, at most. Higher and a feed that claims a
 * day hides its changes for a day; lower and feeds that ask for rest are asked all the same.
 */
const MAX_TTL_MS = 10 * 60_000;

/** When a document may change next; a clock that is ahead counts as ours. */
function nextChange(document: unknown, now: number): number {
  if (!isObject(document)) return now;
  const made = Math.min(instantFrom(document["last_updated"]) ?? now, now);
  return made + Math.min(ttlOf(document), MAX_TTL_MS);
}

function ttlOf(document: JsonObject): number {
  return Math.max(0, numberFrom(document["ttl"]) ?? 0) * 1000;
}

/** URLs of a source's feeds, as its `gbfs.json` lists them, by the feeds' names. */
export type DiscoveredFeeds = ReadonlyMap<string, string>;

/** Feeds of a list that are looked at: GBFS knows about 20. */
const MAX_FEEDS = 200;
/** Characters of a name or URL. */
const MAX_URL_LENGTH = 2_048;

/** Reads a `gbfs.json`. 1.x and 2.x list the feeds by language: English, else the first, is used. 3.x lists them once. */
function readDiscovery(document: unknown): DiscoveredFeeds {
  const data = isObject(document) && isObject(document["data"]) ? document["data"] : {};
  const listed = data["feeds"] ?? chooseLanguage(data)?.["feeds"];
  if (!Array.isArray(listed)) throw new FeedFailure("gbfs", "it has no list of feeds");
  const feeds = new Map<string, string>();
  for (const feed of listed.slice(0, MAX_FEEDS)) {
    if (!isObject(feed)) continue;
    const { name, url } = feed;
    const isUsable = [name, url].every((text) => typeof text === "string" && text.length <= MAX_URL_LENGTH);
    if (isUsable) feeds.set(String(name), String(url));
  }
  return feeds;
}

function chooseLanguage(data: JsonObject): JsonObject | undefined {
  const languages = Object.entries(data).filter(([, value]) => isObject(value) && Array.isArray(value["feeds"]));
  const [, chosen] = languages.find(([language]) => /^en\b/i.test(language)) ?? languages[0] ?? [];
  return isObject(chosen) ? chosen : undefined;
}
