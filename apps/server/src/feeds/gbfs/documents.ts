import { type Field, type GbfsFeed, type GbfsFeedName, gbfsFeeds, type LocalText } from "@bikeshare/contract";
import { languageFrom } from "../../city/descriptions/lenient-values.rules.ts";
import type { Position } from "../../city/fleet/bike.rules.ts";
import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../city/fleet/station.rules.ts";
import { parseBounded } from "./bounded-json.ts";
import {
  currentRecord,
  docksAvailableType,
  GREATEST_INTEGER,
  knownFields,
  MAX_STATION_FACTS,
  MAX_VEHICLE_FACTS,
  readValue,
  stationFacts,
  stationTexts,
  vehicleFacts,
} from "./canonical.ts";
import { type Description, type DescriptiveFeed, readDescription } from "./descriptions.ts";
import { contentDigest, type DocumentAge } from "./feed-health.rules.ts";
import { DEFAULT_LANGUAGE, type Feed, type FeedFormat, lastUpdatedOf, readFeed } from "./feed.ts";
import { FeedFailure } from "./problems.ts";
import type { RecordReader, Rejection } from "./record-reader.ts";
import { identifierFrom, instantFrom, isObject, type JsonObject, numberFrom, textFrom } from "./values.ts";

// Reads the documents of a GBFS source: parses the bytes, merges languages, reads the records of each feed, and says when
// the document may change next. An invalid value does not reject its record if the record is of use without it: the value is
// left out or replaced, and logged with `repaired`. Fields without a column in the database are kept together as the
// record's facts (`canonical.ts`).

// Before GBFS 3.0, a feed has one document for each language. These are merged into one document that has each text in
// several languages, as GBFS 3.0 writes it.

/** Maximum languages besides the main one. Too high: each poll of a feed makes one request for each of many languages. */
const MAX_TRANSLATIONS = 5;

/** The same document in another language. */
export interface Translation {
  readonly language: string;
  readonly bytes: Uint8Array;
}

/** Where a feed has its texts. */
interface Texts {
  /** The name of the list of records; undefined: the texts are in `data` itself. */
  readonly list?: string;
  /** The field with a record's id; undefined: the texts are in `data` itself. */
  readonly id?: string;
  /** The fields that are texts. */
  readonly fields: readonly string[];
}

/**
 * Returns where a feed has texts. Undefined: it has none, or its records have no ids, so that the records of two documents
 * cannot be matched.
 */
function textsOf(name: string): Texts | undefined {
  if (!Object.hasOwn(gbfsFeeds, name)) return undefined;
  const { fields, records }: GbfsFeed = gbfsFeeds[name as GbfsFeedName];
  // Only `system_information` has its texts in `data`. Elsewhere they are in records.
  const isSystem = name === "system_information";
  const ofRecord = isSystem ? fields : records && fields[records.list]?.type.item?.fields;
  const isText = ([, { type }]: readonly [string, Field]) => type.kind === "text" || type.kind === "textUri";
  const texts = Object.entries(ofRecord ?? {})
    .filter(isText)
    .map(([field]) => field);
  if (texts.length === 0) return undefined;
  return { fields: texts, ...(!isSystem && records && { list: records.list, id: records.id }) };
}

/** Tells whether a feed is fetched in several languages if the source has them. */
export function hasTranslations(name: string): boolean {
  return textsOf(name) !== undefined;
}

/**
 * Returns a document whose texts are in several languages. A text that is the same in all languages stays a single text,
 * because nobody has translated it. Leaves out a translation that cannot be read.
 * @param language the language of the document's texts if `data` does not name it
 */
function translated(
  name: string,
  document: unknown,
  translations: readonly Translation[],
  language: string = DEFAULT_LANGUAGE,
): unknown {
  const texts = textsOf(name);
  if (texts === undefined || translations.length === 0 || !isObject(document) || !isObject(document["data"]))
    return document;
  const { data } = document;
  const main = languageFrom(data["language"]) ?? language;
  const others = translations.flatMap(({ language: other, bytes }): TranslatedRecords[] => {
    const byId = other === main ? undefined : recordsOf(texts, bytes);
    return byId === undefined ? [] : [{ language: other, byId }];
  });
  const translate = (record: JsonObject) => {
    // A record without an id has no translation, because no record of `others` has the id "".
    const id = texts.id === undefined ? ID_OF_DATA : (identifierFrom(record[texts.id]) ?? "");
    const changed = texts.fields.flatMap((field) => {
      const text = record[field];
      if (typeof text !== "string" || text.trim() === "") return [];
      const inOthers = textsIn(others, id, field);
      const isTranslated = inOthers.some((each) => each.text !== text.trim());
      return isTranslated ? [[field, [{ text, language: main }, ...inOthers]] as const] : [];
    });
    return changed.length === 0 ? record : { ...record, ...Object.fromEntries(changed) };
  };
  if (texts.list === undefined) return { ...document, data: translate(data) };
  const records = data[texts.list];
  if (!Array.isArray(records)) return document;
  const all = records.map((record: unknown) => (isObject(record) ? translate(record) : record));
  return { ...document, data: { ...data, [texts.list]: all } };
}

/** The records of a document in another language, by id. */
interface TranslatedRecords {
  readonly language: string;
  readonly byId: ReadonlyMap<string, JsonObject>;
}

/** The id of `data` itself, if that has the texts. */
const ID_OF_DATA = "";

/** Returns a field of a record in each language that has it. */
function textsIn(translations: readonly TranslatedRecords[], id: string, field: string): LocalText[] {
  return translations.flatMap(({ language, byId }) => {
    const text = textFrom(byId.get(id)?.[field]);
    return text === undefined ? [] : [{ text, language }];
  });
}

/**
 * Returns the records of a translation by id; undefined: the translation cannot be read. If the texts are in `data` itself,
 * returns `data` as the only record, with the id `ID_OF_DATA`.
 */
function recordsOf({ list, id }: Texts, bytes: Uint8Array): ReadonlyMap<string, JsonObject> | undefined {
  const document = readLeniently(bytes);
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) return undefined;
  if (list === undefined || id === undefined) return new Map([[ID_OF_DATA, data]]);
  const records: unknown = data[list];
  if (!Array.isArray(records)) return undefined;
  return new Map(
    records.filter(isObject).flatMap((record) => {
      const named = identifierFrom(record[id]);
      return named === undefined ? [] : [[named, record] as const];
    }),
  );
}

/** Parses JSON; undefined: it cannot be parsed. */
function readLeniently(bytes: Uint8Array): unknown {
  try {
    return parseBounded(bytes);
  } catch {
    return undefined;
  }
}

/** Maximum vehicles of a feed. The largest cities have ten thousand. Too high: one feed fills the memory. */
const MAX_VEHICLES = 200_000;
/**
 * Maximum stations of a source. The largest known one, of a whole country, has ten thousand. Each takes three times a
 * vehicle's memory.
 */
const MAX_STATIONS = 20_000;

/** The parts that the formats of both feeds of stations share. */
const stations = { lists: ["stations"], ids: ["station_id"], maxRecords: MAX_STATIONS } as const;

const stationInformation: FeedFormat<StationInformation> = {
  ...stations,
  known: knownFields("station_information"),
  read(reader, id) {
    const position = positionOf(reader);
    if ("reason" in position) return position;
    const name = reader.text("name");
    if (name === null) reader.repaired("name", "missing");
    return {
      // A station with a position is worth listing even without a name.
      name: name ?? id,
      short_name: reader.text("short_name"),
      ...position,
      address: reader.text("address"),
      region_id: reader.identifier("region_id"),
      capacity: reader.count(["capacity"], null),
      is_virtual_station: reader.optionalFlag("is_virtual_station"),
      source_facts: reader.facts(factsOf(reader), MAX_STATION_FACTS, currentRecord("station_information", reader.raw)),
    };
  },
};

const stationStatus: FeedFormat<StationStatusReport> = {
  ...stations,
  known: knownFields("station_status"),
  read(reader) {
    const types = typesAvailable(reader);
    return {
      // An unreadable flag counts as true. Otherwise partners would be notified that the station went offline.
      is_installed: reader.flag("is_installed", true),
      is_renting: reader.flag("is_renting", true),
      is_returning: reader.flag("is_returning", true),
      num_bikes_available: vehiclesAvailable(reader, types.total),
      num_bikes_disabled: reader.count(["num_bikes_disabled", "num_vehicles_disabled"], null),
      num_docks_available: reader.count(["num_docks_available"], null),
      num_docks_disabled: reader.count(["num_docks_disabled"], null),
      vehicle_types_available: types.json,
      vehicle_docks_available: docksAvailable(reader),
      last_reported: reader.instant("last_reported"),
    };
  },
};

const vehicles: FeedFormat<VehicleReport> = {
  lists: ["vehicles", "bikes"],
  ids: ["vehicle_id", "bike_id"],
  maxRecords: MAX_VEHICLES,
  // Some feeds give the number on the vehicle as `name`.
  known: knownFields("vehicle_status", ["name"]),
  read(reader) {
    const station_id = reader.identifier("station_id");
    const position = positionOf(reader);
    if ("reason" in position) {
      // A vehicle at a station needs no position.
      if (station_id === null) return position;
      if (position.reason !== "position_missing") reader.repaired("lat", position.reason);
    }
    return {
      number: reader.text("name"),
      vehicle_type_id: reader.identifier("vehicle_type_id"),
      is_reserved: reader.flag("is_reserved", false),
      is_disabled: reader.flag("is_disabled", false),
      station_id,
      position: "reason" in position ? undefined : position,
      current_range_meters: reader.metres("current_range_meters"),
      source_facts: reader.facts(vehicleFacts, MAX_VEHICLE_FACTS),
      last_reported: reader.instant("last_reported"),
    };
  },
};

/** Reads a `station_information` document. @throws FeedFailure when no record can be used */
export function readStationInformation(document: unknown, now: number, language?: string): Feed<StationInformation> {
  return readFeed("station_information", stationInformation, document, now, language);
}

/** Reads a `station_status` document. @throws FeedFailure when no record can be used */
export function readStationStatus(document: unknown, now: number): Feed<StationStatusReport> {
  return readFeed("station_status", stationStatus, document, now);
}

/** Reads a `free_bike_status` or `vehicle_status` document. @throws FeedFailure when no record can be used */
export function readVehicles(name: string, document: unknown, now: number): Feed<VehicleReport> {
  return readFeed(name, vehicles, document, now);
}

/** Returns a record's position. Rejects 0°, 0°, a point in the open sea that software writes for "unknown". */
function positionOf({ raw: { lat, lon } }: RecordReader): Position | Rejection {
  const position = { lat: numberFrom(lat), lon: numberFrom(lon) };
  const rejected = (issue: string) => ({ field: "lat,lon", value: [lat, lon], reason: `position_${issue}` });
  if (position.lat === undefined || position.lon === undefined) return rejected("missing");
  if (Math.abs(position.lat) > 90 || Math.abs(position.lon) > 180) return rejected("out_of_range");
  if (position.lat === 0 && position.lon === 0) return rejected("null_island");
  return { lat: position.lat, lon: position.lon };
}

/** Returns the fields that a station's facts have. They include its name only if that is in several languages. */
function factsOf({ raw }: RecordReader): typeof stationFacts {
  const texts = stationTexts.filter(([field]) => Array.isArray(raw[field]) && raw[field].length > 1);
  return texts.length === 0 ? stationFacts : [...texts, ...stationFacts];
}

/**
 * Reads the free docks for each set of vehicle types, as ordered JSON. Null: the feed gives none that are valid, or too many.
 */
function docksAvailable(reader: RecordReader): string | null {
  const field = "vehicle_docks_available";
  const docks =
    reader.raw[field] === undefined ? undefined : readValue(docksAvailableType, reader.raw[field], reader, field);
  if (!Array.isArray(docks) || docks.length === 0) return null;
  reader.refers(docks);
  const json = `[${docks
    .map((each) => JSON.stringify(each))
    .toSorted()
    .join(",")}]`;
  if (json.length <= MAX_STATION_FACTS) return json;
  reader.repaired(field, "too_large");
  return null;
}

/** The number of vehicles of each type at a station. `json` is compact and ordered, as `StationStatusReport` requires. */
interface TypesAvailable {
  readonly json: string;
  readonly total: number;
}

const NO_TYPES: TypesAvailable = { json: "[]", total: 0 };

/** Reads `vehicle_types_available`. Leaves out items that cannot be read. */
function typesAvailable(reader: RecordReader): TypesAvailable {
  const field = "vehicle_types_available";
  const listed = reader.raw[field] ?? [];
  const items: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const id = isObject(item) ? identifierFrom(item["vehicle_type_id"]) : undefined;
    const count = isObject(item) ? numberFrom(item["count"]) : undefined;
    if (id !== undefined && count !== undefined && isCount(count) && !counts.has(id)) counts.set(id, count);
  }
  if (!Array.isArray(listed) || counts.size < items.length) reader.repaired(field, "unreadable_items");
  const types = [...counts].map(([vehicle_type_id, count]) => ({ vehicle_type_id, count }));
  const total = types.reduce((sum, { count }) => sum + count, 0);
  if (!isCount(total)) {
    reader.repaired(field, "too_large");
    return NO_TYPES;
  }
  return { json: JSON.stringify(types.sort((a, b) => (a.vehicle_type_id < b.vehicle_type_id ? -1 : 1))), total };
}

/**
 * Returns the number of vehicles at a station: the number that the feed gives, or the sum of its types if that is greater.
 * In GBFS the types add up to all vehicles, but some feeds leave some kinds of vehicle out of the number (Lyft's: scooters).
 */
function vehiclesAvailable(reader: RecordReader, totalOfTypes: number): number {
  const fields = ["num_bikes_available", "num_vehicles_available"] as const;
  const count = reader.count(fields, 0);
  if (count >= totalOfTypes) return count;
  reader.repaired(fields.find((field) => reader.raw[field] !== undefined) ?? fields[0], "fewer_than_types");
  return totalOfTypes;
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= GREATEST_INTEGER;
}

/** The documents of a source that the service reads, by their GBFS names, with the content of each. */
export interface Documents {
  readonly gbfs: DiscoveredFeeds;
  readonly station_information: Feed<StationInformation>;
  readonly station_status: Feed<StationStatusReport>;
  readonly vehicle_status: Feed<VehicleReport>;
  readonly free_bike_status: Feed<VehicleReport>;
  readonly system_information: Description;
  readonly vehicle_types: Description;
  readonly system_regions: Description;
  readonly system_pricing_plans: Description;
  readonly system_alerts: Description;
  readonly geofencing_zones: Description;
  readonly system_hours: Description;
  readonly system_calendar: Description;
}

export type DocumentName = keyof Documents;

/** The content of a document, with the time of its next change and the age of its data. */
export interface DocumentContent<Name extends DocumentName = DocumentName> {
  readonly content: Documents[Name];
  /** The instant before which the document will not change, by its `last_updated` and `ttl`; milliseconds since 1970. */
  readonly changesAt: number;
  /** Null: the age of this feed's data is not judged. */
  readonly age: DocumentAge | null;
}

/** Reads the content of a parsed document. */
type Read<Name extends DocumentName> = (document: unknown, now: number, language: string) => Documents[Name];

const descriptionReader =
  <Name extends DescriptiveFeed>(name: Name): Read<Name> =>
  (document, now, language) =>
    readDescription(name, document, now, language);

const readers: { readonly [Name in DocumentName]: Read<Name> } = {
  gbfs: readDiscovery,
  station_information: readStationInformation,
  station_status: readStationStatus,
  vehicle_status: (document, now) => readVehicles("vehicle_status", document, now),
  free_bike_status: (document, now) => readVehicles("free_bike_status", document, now),
  system_information: descriptionReader("system_information"),
  vehicle_types: descriptionReader("vehicle_types"),
  system_regions: descriptionReader("system_regions"),
  system_pricing_plans: descriptionReader("system_pricing_plans"),
  system_alerts: descriptionReader("system_alerts"),
  geofencing_zones: descriptionReader("geofencing_zones"),
  system_hours: descriptionReader("system_hours"),
  system_calendar: descriptionReader("system_calendar"),
};

/**
 * Most records of a document. They are counted before it is parsed, because parsing takes memory. For the other documents,
 * only the number of values limits what is parsed (`bounded-json.ts`).
 */
const maxRecords: { readonly [Name in DocumentName]?: number } = {
  station_information: MAX_STATIONS,
  station_status: MAX_STATIONS,
  vehicle_status: MAX_VEHICLES,
  free_bike_status: MAX_VEHICLES,
};

/**
 * Reads a document's bytes, within limits of size.
 * @param now milliseconds since 1970
 * @param language the language of texts that do not name theirs
 * @param translations the same document in other languages
 * @throws FeedFailure when nothing in the document can be used
 */
export function readDocument<Name extends DocumentName>(
  name: Name,
  bytes: Uint8Array,
  now: number,
  language: string = DEFAULT_LANGUAGE,
  translations: readonly Translation[] = [],
): DocumentContent<Name> {
  let document: unknown;
  try {
    document = translated(name, parseBounded(bytes, maxRecords[name]), translations, language);
  } catch (error) {
    throw FeedFailure.from(name, error);
  }
  const content = readers[name](document, now, language);
  const leastMs = SLOW.has(name) ? SLOW_TTL_MS : 0;
  return { content, changesAt: nextChange(document, now, leastMs), age: ageOf(name, content, document, now) };
}

/** The feeds whose data become stale, because they change all the time. */
const AGEING: ReadonlySet<DocumentName> = new Set(["station_status", "vehicle_status", "free_bike_status"]);

/** Returns the age of a document's data; null for feeds whose data do not become stale. */
function ageOf(name: DocumentName, content: Documents[DocumentName], document: unknown, now: number) {
  if (!AGEING.has(name)) return null;
  const ttlMs = isObject(document) ? ttlOf(document) : 0;
  // The cast is safe: a feed in `AGEING` contains the status of stations or of vehicles.
  const digest = contentDigest(content as Parameters<typeof contentDigest>[0]);
  return { at: lastUpdatedOf(document, now) ?? null, digest, ttlMs };
}

/**
 * Maximum `ttl` that is obeyed, in milliseconds. Too low: polls feeds more often than they ask. Too high: hides changes
 * of a feed that declares a day.
 */
const MAX_TTL_MS = 10 * 60_000;

/** Feeds that seldom change and may be large: the zones of a city have megabytes. */
const SLOW: ReadonlySet<DocumentName> = new Set([
  "system_pricing_plans",
  "geofencing_zones",
  "system_hours",
  "system_calendar",
]);
/** Minimum `ttl` of the feeds in `SLOW`. Too low: they cost more than all other feeds. Too high: prices are outdated. */
const SLOW_TTL_MS = 5 * 60_000;

/**
 * Returns when a document may change next. A `last_updated` in the future counts as now.
 * @param leastMs the minimum time from `now` on
 */
function nextChange(document: unknown, now: number, leastMs: number): number {
  if (!isObject(document)) return now + leastMs;
  const made = Math.min(instantFrom(document["last_updated"]) ?? now, now);
  return Math.max(made + Math.min(ttlOf(document), MAX_TTL_MS), now + leastMs);
}

/** Returns a document's `ttl` in milliseconds; 0: it has none, or an invalid one. */
function ttlOf(document: JsonObject): number {
  return Math.max(0, numberFrom(document["ttl"]) ?? 0) * 1000;
}

/** URLs of a source's feeds, by the feeds' names. */
type FeedUrls = ReadonlyMap<string, string>;

/** The feeds that a `gbfs.json` lists. */
export interface DiscoveredFeeds {
  readonly feeds: FeedUrls;
  /** The lists of feeds in other languages, which GBFS has before 3.0. */
  readonly translations: ReadonlyMap<string, FeedUrls>;
}

/** Maximum feeds of a list. GBFS defines about 20. */
const MAX_FEEDS = 200;
/** Maximum characters of a name or URL. */
const MAX_URL_LENGTH = 2_048;

/**
 * Reads a `gbfs.json`. GBFS 3.x lists the feeds once, older versions once for each language. Uses the English list, or else
 * the first. The other lists serve only to translate texts.
 */
function readDiscovery(document: unknown): DiscoveredFeeds {
  const data = isObject(document) && isObject(document["data"]) ? document["data"] : {};
  if (data["feeds"] !== undefined) return { feeds: feedUrls(data), translations: new Map() };
  const lists = Object.entries(data).filter(([, value]) => isObject(value) && Array.isArray(value["feeds"]));
  const [chosen, list] = lists.find(([language]) => /^en\b/i.test(language)) ?? lists[0] ?? [];
  const others = lists.flatMap(([key, value]) => {
    const language = key === chosen ? undefined : languageFrom(key);
    return language === undefined ? [] : [[language, feedUrls(value)] as const];
  });
  return { feeds: feedUrls(list), translations: new Map(others.slice(0, MAX_TRANSLATIONS)) };
}

/** Returns the feeds of a list. Leaves out entries without a usable name and URL. @throws FeedFailure when it is no list */
function feedUrls(list: unknown): FeedUrls {
  const listed = isObject(list) ? list["feeds"] : undefined;
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
