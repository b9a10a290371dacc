import {
  type Field,
  type Fields,
  type FieldType,
  type GbfsFeed,
  type GbfsFeedName,
  gbfsFeeds,
  type LocalText,
  type MultiPolygon,
  stationInformationFields,
  stationStatusFields,
  vehicleFields,
} from "@bikeshare/contract";
import { emailFrom, languageFrom, timeZoneFrom } from "../../city/descriptions/lenient-values.rules.ts";
import { openingHoursFrom } from "../../city/descriptions/opening-hours.rules.ts";
import { booleanFrom, identifierFrom, instantFrom, isObject, type JsonObject, numberFrom, textFrom } from "./values.ts";

// Parses the values of feeds of any version to their canonical form, which is that of GBFS 3.1. The database stores this
// form. Geometries come first, then all other kinds of values.

/** Maximum points of one geometry. The outline of a large city has some thousand points, of some 20 bytes each. */
const MAX_POINTS = 50_000;
/** Minimum points of a ring: a triangle, whose first point is repeated at the end. */
const MIN_RING_POINTS = 4;

/**
 * Reads a GeoJSON `Polygon` or `MultiPolygon` as a `MultiPolygon`. Closes open rings, and leaves out heights.
 * @returns undefined when the value is neither, a ring or coordinate is invalid, or there are too many points
 */
function geometryFrom(value: unknown): MultiPolygon | undefined {
  if (!isObject(value)) return undefined;
  const { type, coordinates } = value;
  const polygons: unknown = type === "Polygon" ? [coordinates] : coordinates;
  if ((type !== "Polygon" && type !== "MultiPolygon") || !Array.isArray(polygons)) return undefined;
  let points = 0;
  const read: number[][][][] = [];
  for (const polygon of polygons as readonly unknown[]) {
    if (!Array.isArray(polygon)) return undefined;
    const rings: number[][][] = [];
    for (const given of polygon as readonly unknown[]) {
      if (!Array.isArray(given)) return undefined;
      points += given.length;
      if (points > MAX_POINTS) return undefined;
      const ring = ringFrom(given);
      if (ring === undefined) return undefined;
      rings.push(ring);
    }
    if (rings.length > 0) read.push(rings);
  }
  return read.length === 0 ? undefined : { type: "MultiPolygon", coordinates: read };
}

/** Reads a ring, and closes it. @returns undefined when a point is invalid, or there are too few */
function ringFrom(given: readonly unknown[]): number[][] | undefined {
  const ring: number[][] = [];
  for (const point of given) {
    const [lon, lat] = Array.isArray(point) ? [numberFrom(point[0]), numberFrom(point[1])] : [];
    if (lon === undefined || lat === undefined || Math.abs(lon) > 180 || Math.abs(lat) > 90) return undefined;
    ring.push([lon, lat]);
  }
  const [first, last] = [ring[0], ring.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  if (first[0] !== last[0] || first[1] !== last[1]) ring.push([...first]);
  return ring.length < MIN_RING_POINTS ? undefined : ring;
}

// All other kinds of values. An invalid value is omitted or changed, and logged. A valid value in an unusual spelling is
// accepted without a log.

/** The context of a value, and the log of its problems. */
export interface ReadingContext {
  /** The language of texts that do not name theirs, as in GBFS before 3.0. */
  readonly language: string;
  /** Logs that a value was omitted or changed. @param field its path in the record, such as `rental_uris.web` */
  problem(field: string, value: unknown, reason: string): void;
  /** Logs an unknown field. */
  unknown(field: string): void;
}

/** Maximum characters of a text or address. Too high: one record's text fills every page that lists it. */
export const MAX_TEXT_LENGTH = 2_000;
/** The greatest integer that a column can store. */
export const GREATEST_INTEGER = 2_147_483_647;
/** Maximum items of a list within a record. An alert may name each station of a city. */
const MAX_ITEMS = 5_000;
/** Maximum languages of a text. */
const MAX_LANGUAGES = 50;

/** For each kind of value: its parser, which returns undefined for an invalid value, and the reason to log then. */
const scalars: { readonly [Kind in FieldType["kind"]]?: readonly [read: (value: unknown) => unknown, issue: string] } =
  {
    id: [identifierFrom, "not_an_identifier"],
    uri: [uriFrom, "not_an_address"],
    email: [emailFrom, "not_an_address"],
    date: [dateFrom, "not_a_date"],
    time: [timeFrom, "not_a_time"],
    dateTime: [rfc3339From, "not_an_instant"],
    instant: [rfc3339From, "not_an_instant"],
    language: [languageFrom, "not_a_language"],
    timeZone: [timeZoneFrom, "not_a_time_zone"],
    openingHours: [openingHoursFrom, "not_opening_hours"],
    colour: [colourFrom, "not_a_colour"],
    currency: [currencyFrom, "not_a_currency"],
    country: [countryFrom, "not_a_country"],
    boolean: [booleanFrom, "not_a_boolean"],
    multiPolygon: [geometryFrom, "not_a_multipolygon"],
  };

/**
 * Parses a value to its canonical form.
 * @param field its path in the record, for problems
 * @returns undefined for a missing or invalid value
 */
export function readValue(type: FieldType, value: unknown, context: ReadingContext, field: string): unknown {
  if (value === undefined || value === null || value === "") return undefined;
  // Many feeds write 0 for "never".
  if (value === 0 && type.kind === "instant") return undefined;
  const scalar = scalars[type.kind];
  if (scalar !== undefined) {
    const [read, issue] = scalar;
    const meaning = read(value);
    if (meaning === undefined) context.problem(field, value, issue);
    return meaning;
  }
  switch (type.kind) {
    case "text":
      return readTexts(value, context, field, readString);
    case "textUri":
      return readTexts(value, context, field, readUri);
    case "integer":
    case "number":
      return readNumber(type, value, context, field);
    case "oneOf":
      return readWord(type, value, context, field);
    case "list":
      return readList(type, value, context, field);
    case "object": {
      const read = readObject(type.fields ?? {}, value, context, field);
      // Leaves out an object without a required field, such as a brand without its image, because GBFS does not allow it.
      return isComplete(type.fields, read, context, field) ? read : undefined;
    }
    default:
      return readString(value, context, field);
  }
}

/** Reads a text, and shortens one that is too long. */
function readString(value: unknown, context: ReadingContext, field: string): string | undefined {
  // A blank string counts as missing, and is not logged.
  const text = typeof value === "string" || typeof value === "number" ? textFrom(value) : undefined;
  if (text === undefined && !(typeof value === "string" && value.trim() === "")) {
    context.problem(field, value, "not_a_string");
  }
  if (text === undefined || text.length <= MAX_TEXT_LENGTH) return text;
  context.problem(field, value, "too_long");
  return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
}

function readUri(value: unknown, context: ReadingContext, field: string): string | undefined {
  const uri = uriFrom(value);
  if (uri === undefined) context.problem(field, value, "not_an_address");
  return uri;
}

/** Parses a string, or a list with one string for each language. Of several texts in one language, keeps the first. */
function readTexts(
  value: unknown,
  context: ReadingContext,
  field: string,
  read: typeof readString,
): readonly LocalText[] | undefined {
  const given: readonly unknown[] = Array.isArray(value) ? value : [{ text: value, language: context.language }];
  if (given.length > MAX_LANGUAGES) context.problem(field, given.length, "too_many_items");
  const texts = new Map<string, string>();
  for (const item of given.slice(0, MAX_LANGUAGES)) {
    const { text: said, language: named }: JsonObject = isObject(item) ? item : { text: item };
    const text = said === undefined || said === null || said === "" ? undefined : read(said, context, field);
    const language = languageFrom(named) ?? context.language;
    if (text !== undefined && !texts.has(language)) texts.set(language, text);
  }
  return texts.size === 0 ? undefined : [...texts].map(([language, text]) => ({ text, language }));
}

/** Reads a number within the bounds of its type. */
function readNumber(type: FieldType, value: unknown, context: ReadingContext, field: string): number | undefined {
  const said = numberFrom(value);
  // Some feeds write a share as a percentage.
  const isPercent = type.max === 1 && said !== undefined && said > 1 && said <= 100;
  const number = isPercent ? said / 100 : said;
  const { kind, min = -GREATEST_INTEGER, max = GREATEST_INTEGER } = type;
  if (number === undefined || number < min || number > max) {
    context.problem(field, value, number === undefined ? "not_a_number" : "out_of_range");
    return undefined;
  }
  if (kind === "integer" && !Number.isInteger(number)) context.problem(field, value, "not_whole");
  return kind === "integer" ? Math.trunc(number) : number;
}

/**
 * Parses a word of an enumeration in its newest spelling, an older one, or another letter case. Returns `other` for an
 * unknown word if the enumeration has it.
 */
function readWord(type: FieldType, value: unknown, context: ReadingContext, field: string): string | undefined {
  const said = typeof value === "string" || typeof value === "number" ? String(value) : "";
  const { words = [], oldWords = {} } = type;
  const isSaid = (word: string) => word === said || word.toLowerCase() === said.toLowerCase();
  const old = Object.hasOwn(oldWords, said) ? oldWords[said] : undefined;
  const word = old ?? words.find(isSaid);
  if (word === undefined) context.problem(field, value, "unknown_word");
  return word ?? words.find((each) => each === "other");
}

/** Reads a list, without the items that are invalid. @returns undefined when it is no list, or too few are left */
function readList(type: FieldType, value: unknown, context: ReadingContext, field: string): unknown {
  const { item, min = 0 } = type;
  if (item === undefined) return undefined;
  // Some feeds write a single word instead of a list.
  const given: unknown = Array.isArray(value) || item.kind === "object" ? value : [value];
  if (!Array.isArray(given)) {
    context.problem(field, value, "not_a_list");
    return undefined;
  }
  if (given.length > MAX_ITEMS) context.problem(field, given.length, "too_many_items");
  const items: unknown[] = [];
  for (const each of given.slice(0, MAX_ITEMS)) {
    const read = readValue(item, each, context, field);
    if (read !== undefined && isComplete(item.fields, read, context, field)) items.push(read);
  }
  return items.length < min ? undefined : items;
}

/**
 * Tells whether an object has all required fields, because a price without a rate is useless. Logs the first missing
 * one.
 */
export function isComplete(fields: Fields | undefined, item: unknown, context: ReadingContext, path: string): boolean {
  if (fields === undefined || !isObject(item)) return true;
  const missing = currentFields(fields).find(([name, { required }]) => required === true && item[name] === undefined);
  if (missing !== undefined) context.problem(pathOf(path, missing[0]), null, "missing");
  return missing === undefined;
}

/** Returns the path of a field in an object. @param path that of the object; empty: the record itself */
function pathOf(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/**
 * Parses the fields of an object in the order of `fields`, so that equal objects have equal JSON.
 * @returns undefined when the value is not an object, or no field of it can be used
 */
export function readObject(
  fields: Fields,
  value: unknown,
  context: ReadingContext,
  path: string,
): JsonObject | undefined {
  if (!isObject(value)) {
    context.problem(path, value, "not_an_object");
    return undefined;
  }
  // Only the rules of geofencing zones have this field.
  const given = fields["ride_through_allowed"] === undefined ? value : currentRule(value);
  for (const name of Object.keys(given)) if (!Object.hasOwn(fields, name)) context.unknown(pathOf(path, name));
  const read: Record<string, unknown> = {};
  for (const [name, { type, required }] of currentFields(fields)) {
    // A required field with only one possible value, such as the `type` of a GeoJSON object, gets that value.
    if (required === true && type.words?.length === 1) read[name] = type.words[0];
    else if (given[name] !== undefined) {
      const content = readValue(type, given[name], context, pathOf(path, name));
      if (content !== undefined) read[name] = content;
    }
  }
  return Object.keys(read).length === 0 ? undefined : read;
}

/** The results of `currentFields`, because every record asks for them. */
const currentFieldsByTable = new Map<Fields, readonly (readonly [string, Field])[]>();

/** Returns the fields that the newest version has, and `language`, which GBFS 3.0 replaced by `languages`. */
export function currentFields(fields: Fields): readonly (readonly [string, Field])[] {
  let current = currentFieldsByTable.get(fields);
  if (current === undefined) {
    current = Object.entries(fields).filter(([name, { until }]) => until === undefined || name === "language");
    currentFieldsByTable.set(fields, current);
  }
  return current;
}

/**
 * Fields of stations whose form changed in GBFS 3.0: the new name and the old name. The old name of the docks resembles the
 * new name of the vehicles.
 */
const oldCapacities = [
  ["vehicle_types_capacity", "vehicle_capacity"],
  ["vehicle_docks_capacity", "vehicle_type_capacity"],
] as const;

/** Converts a record of an old version to the newest names and forms. */
export function currentRecord(feed: GbfsFeedName, record: JsonObject): JsonObject {
  const { oldNames }: GbfsFeed = gbfsFeeds[feed];
  const names = oldNames?.fields === undefined ? [] : Object.entries(oldNames.fields);
  const renamed = names.filter(([name, old]) => old in record && !(name in record));
  const capacities = oldCapacities.filter(([name, old]) => isObject(record[old]) && record[name] === undefined);
  if (renamed.length + capacities.length === 0) return record;
  const current: Record<string, unknown> = { ...record };
  for (const [name, old] of renamed) {
    current[name] = record[old];
    delete current[old];
  }
  for (const [name, old] of capacities) {
    const counts: readonly [string, unknown][] = Object.entries(record[old] ?? {});
    current[name] = counts.map(([id, count]) => ({ vehicle_type_ids: [id], count }));
  }
  return current;
}

/** Converts the rule of a geofencing zone to its form in GBFS 3.0. Grants each permission that an old feed omits. */
function currentRule(rule: JsonObject): JsonObject {
  const { ride_allowed: allowed, vehicle_type_id: types, ...rest } = rule;
  return {
    ...(types !== undefined && { vehicle_type_ids: types }),
    ride_start_allowed: allowed ?? true,
    ride_end_allowed: allowed ?? true,
    ride_through_allowed: true,
    ...rest,
  };
}

/** URL schemes that run code or reveal data when somebody opens them. */
const UNSAFE_SCHEMES = new Set(["javascript", "data", "vbscript", "file", "blob"]);
/** Checks a URL cheaply. Parsing each URL of a city would cost as much as reading the rest of its feeds. */
const URI = /^([a-z][a-z\d+.-]*):[\x21-\x7e]+$/i;
/** Like `URI`, but accepts characters beyond ASCII. */
const IRI = /^([a-z][a-z\d+.-]*):[^\s\p{Cc}\p{Cs}]+$/iu;

/** Returns a URL of a website or an app; undefined: it is invalid, too long, or has an unsafe scheme. */
function uriFrom(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const [, scheme] = URI.exec(text) ?? IRI.exec(text) ?? [];
  return scheme === undefined || UNSAFE_SCHEMES.has(scheme.toLowerCase()) ? undefined : text;
}

/** Returns a date; for an instant, the date in its own time zone. */
function dateFrom(value: unknown): string | undefined {
  const [, day] = typeof value === "string" ? (/^\s*(\d{4}-\d{2}-\d{2})(?:T\S*)?\s*$/.exec(value) ?? []) : [];
  return day !== undefined && !Number.isNaN(Date.parse(day)) ? day : undefined;
}

/** Returns a time of a service day as `HH:MM:SS`. Hours go up to 47, because a service day may end on the next day. */
function timeFrom(value: unknown): string | undefined {
  const parts = typeof value === "string" ? /^\s*(\d{1,2}):([0-5]\d)(?::([0-5]\d))?\s*$/.exec(value) : null;
  const [, hour, minute, second = "00"] = parts ?? [];
  return hour !== undefined && Number(hour) < 48 ? `${hour.padStart(2, "0")}:${minute}:${second}` : undefined;
}

/** The first instant of the year 10000, which RFC 3339 cannot write. */
const END_OF_TIME_MS = Date.UTC(10_000, 0);

/** Returns an instant in RFC 3339, without fractions of a second if they are zero. */
function rfc3339From(value: unknown): string | undefined {
  const instant = instantFrom(value);
  if (instant === undefined || instant <= 0 || instant >= END_OF_TIME_MS) return undefined;
  return new Date(instant).toISOString().replace(".000Z", "Z");
}

/** Returns a colour such as `#1a2b3c`. Accepts the short form `#abc`, which means `#aabbcc`. */
function colourFrom(value: unknown): string | undefined {
  const [, digits] = typeof value === "string" ? (/^\s*#?([\da-f]{6}|[\da-f]{3})\s*$/i.exec(value) ?? []) : [];
  if (digits === undefined) return undefined;
  return `#${digits.length === 6 ? digits : digits.replaceAll(/./g, "$&$&")}`;
}

function currencyFrom(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim().toUpperCase() : "";
  return /^[A-Z]{3}$/.test(text) ? text : undefined;
}

function countryFrom(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim().toUpperCase() : "";
  return /^[A-Z]{2}$/.test(text) ? text : undefined;
}

// Facts are the fields of stations and vehicles that have no column in the database. They are stored as one JSON text, in
// canonical form.

/**
 * Maximum characters of a station's facts. Most have 300; the outline of a virtual station takes 2,000. Stations that a feed
 * no longer lists stay stored.
 */
export const MAX_STATION_FACTS = 8_000;
/** Maximum characters of a vehicle's facts. Most have 300. A feed may have 200,000 vehicles. */
export const MAX_VEHICLE_FACTS = 2_000;

/** Returns the fields that have no column. */
const without = (fields: Fields, columns: readonly string[]): readonly (readonly [string, Field])[] =>
  currentFields(fields).filter(([name]) => !columns.includes(name));

/** The fields of a station's facts. */
export const stationFacts = without(stationInformationFields, [
  "station_id",
  "name",
  "short_name",
  "lat",
  "lon",
  "address",
  "region_id",
  "capacity",
  "is_virtual_station",
]);

/** Text fields of a station that have a column, which stores one language only. */
export const stationTexts = currentFields(stationInformationFields).filter(([name]) =>
  ["name", "short_name"].includes(name),
);

/** The type of `vehicle_docks_available`, which has a column of its own, as JSON. */
export const docksAvailableType = stationStatusFields.vehicle_docks_available.type;

/** The fields of a vehicle's facts. */
export const vehicleFacts = without(vehicleFields, [
  "vehicle_id",
  "lat",
  "lon",
  "is_reserved",
  "is_disabled",
  "vehicle_type_id",
  "last_reported",
  "current_range_meters",
  "station_id",
]);

/** Returns the names of a feed's fields in all versions of GBFS. @param more further names that real feeds use */
export function knownFields(feed: GbfsFeedName, more: readonly string[] = []): ReadonlySet<string> {
  const { fields, records, oldNames }: GbfsFeed = gbfsFeeds[feed];
  const ofRecord = records === undefined ? fields : (fields[records.list]?.type.item?.fields ?? {});
  return new Set([...Object.keys(ofRecord), ...Object.values(oldNames?.fields ?? {}), ...more]);
}
