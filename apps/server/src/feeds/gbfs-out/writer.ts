import {
  type Field,
  fieldNameIn,
  type Fields,
  type FieldType,
  type GbfsFeed,
  type GbfsFeedName,
  gbfsFeeds,
  type GbfsVersion,
  hasField,
  isAtLeast,
  type LocalText,
  stationInformationFields,
  systemInformation,
  type ValueOf,
  zoneRuleFields,
} from "@bikeshare/contract";
import { EARLIEST_MS, NO_ADDRESS } from "./defaults.ts";

// Writes canonical data as a version of GBFS has it. A writer is made once for each feed and version from the table of
// fields, so that a record costs little more than the concatenation of its parts.

/** The languages of a document. Only versions before 3.0, whose texts are in one language, depend on them. */
export interface DocumentLanguages {
  /** The language of the document. */
  readonly wanted: string;
  /** The system's main language: of texts that the wanted one has not. */
  readonly main: string;
}

/** Returns a value as JSON; undefined where the version cannot express it. */
type Write = (value: unknown, languages: DocumentLanguages) => string | undefined;

type CanonicalRecord = Readonly<Record<string, unknown>>;

/** The canonical `data` of a feed. */
export type FeedData<Feed extends GbfsFeedName> = ValueOf<(typeof gbfsFeeds)[Feed]["fields"]>;

/** Returns the `data` of a feed as JSON in a version. @param data in canonical form */
export function writeData<Feed extends GbfsFeedName>(
  feed: Feed,
  data: FeedData<Feed>,
  version: GbfsVersion,
  languages: DocumentLanguages,
): string {
  const key = `${version}/${feed}`;
  const write = writers.get(key) ?? feedWriter(feed, version);
  writers.set(key, write);
  return write(data, languages) ?? "{}";
}

const writers = new Map<string, Write>();

function feedWriter(feed: GbfsFeedName, version: GbfsVersion): Write {
  const { fields, records }: GbfsFeed = gbfsFeeds[feed];
  const rename = (field: string) => fieldNameIn(version, feed, field);
  const list = records && fields[records.list];
  // The old names of a feed are those of its lists and of the fields of its records.
  const recordFields = list?.type.item?.fields;
  if (records === undefined || recordFields === undefined) return objectWriter(fields, version);
  const items = listWriter(objectWriter(recordFields, version, rename));
  const name = JSON.stringify(rename(records.list));
  return (data, languages) => `{${name}:${items((data as CanonicalRecord)[records.list] ?? [], languages)}}`;
}

/** A field of a record, ready to be written. */
interface Part {
  readonly name: string;
  /** Its name in the version, as JSON with a colon. */
  readonly prefix: string;
  /** Derives it from others, where the version has it under another meaning. */
  readonly derive: Derive | undefined;
  readonly write: Write;
}

function objectWriter(fields: Fields, version: GbfsVersion, rename: (name: string) => string = (name) => name): Write {
  const derived = isAtLeast(version, "3.0") ? undefined : before30.get(fields);
  const parts: Part[] = Object.entries(fields)
    .filter(([, field]) => hasField(version, field))
    .map(([name, field]: [string, Field]) => ({
      name,
      prefix: `${JSON.stringify(rename(name))}:`,
      derive: derived?.[name],
      write: writerOf(field.type, version),
    }));
  return (value, languages) => {
    const record = value as CanonicalRecord; // as the table says
    let json = "{";
    for (const { name, prefix, derive, write } of parts) {
      const given = derive === undefined ? record[name] : derive(record, languages);
      if (given === undefined || given === null) continue;
      const written = write(given, languages);
      if (written === undefined) continue;
      json += json === "{" ? prefix + written : `,${prefix}${written}`;
    }
    return `${json}}`;
  };
}

function writerOf(type: FieldType, version: GbfsVersion): Write {
  const isSince30 = isAtLeast(version, "3.0");
  switch (type.kind) {
    case "text":
    case "textUri":
      return isSince30 ? writeTexts : writeText;
    case "instant":
      return isSince30 ? writeJson : writeSeconds;
    case "boolean":
      return (value) => (value === true ? "true" : "false");
    case "integer":
    case "number":
      return (value) => (Number.isFinite(value) ? String(value) : undefined);
    case "list":
      return requiringItems(type.min ?? 0, listWriter(type.item ? writerOf(type.item, version) : writeJson));
    case "object":
      return objectWriter(type.fields ?? {}, version);
    default:
      return writeJson;
  }
}

function listWriter(writeItem: Write): (items: unknown, languages: DocumentLanguages) => string {
  return (items, languages) => {
    let json = "[";
    for (const item of items as readonly unknown[]) {
      const written = writeItem(item, languages);
      if (written !== undefined) json += json === "[" ? written : `,${written}`;
    }
    return `${json}]`;
  };
}

function requiringItems(min: number, write: Write): Write {
  if (min === 0) return write;
  return (items, languages) => ((items as readonly unknown[]).length < min ? undefined : write(items, languages));
}

const writeJson: Write = (value) => JSON.stringify(value);

const writeTexts: Write = (texts) => {
  const each = (texts as readonly LocalText[]).map(
    ({ text, language }) => `{"text":${JSON.stringify(text)},"language":${JSON.stringify(language)}}`,
  );
  return each.length === 0 ? undefined : `[${each.join(",")}]`;
};

const writeText: Write = (value, languages) => {
  const texts = value as readonly LocalText[];
  const inLanguage = (wanted: string) => texts.find(({ language }) => language === wanted);
  const text = inLanguage(languages.wanted) ?? inLanguage(languages.main) ?? texts[0];
  return text && JSON.stringify(text.text);
};

const writeSeconds: Write = (instant) => String(Math.floor(Math.max(Date.parse(String(instant)), EARLIEST_MS) / 1000));

type Derive = (record: CanonicalRecord, languages: DocumentLanguages) => unknown;

/** Fields that versions before 3.0 have otherwise than the canonical form. */
const before30 = new Map<Fields, Readonly<Record<string, Derive>>>([
  [
    systemInformation,
    {
      language: (_, { wanted }) => wanted,
      license_url: ({ license_id: id, license_url: url }) =>
        typeof id === "string" ? `https://spdx.org/licenses/${id}.html` : url,
      // Only 3.0 requires an address.
      feed_contact_email: ({ feed_contact_email: address }) => (address === NO_ADDRESS ? undefined : address),
    },
  ],
  [
    stationInformationFields,
    {
      vehicle_capacity: (station) => countsByType(station["vehicle_types_capacity"]),
      vehicle_type_capacity: (station) => countsByType(station["vehicle_docks_capacity"]),
    },
  ],
  [
    zoneRuleFields,
    {
      vehicle_type_id: (rule) => rule["vehicle_type_ids"],
      ride_allowed: (rule) => rule["ride_start_allowed"] === true && rule["ride_end_allowed"] === true,
    },
  ],
]);

/** Returns counts of several types as counts by type: each type may have all that it shares with others. */
function countsByType(value: unknown): Readonly<Record<string, number>> | undefined {
  if (value === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const { vehicle_type_ids: ids = [], count = 0 } of value as readonly CountOfTypes[]) {
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + count);
  }
  return Object.fromEntries(counts);
}

interface CountOfTypes {
  readonly vehicle_type_ids?: readonly string[];
  readonly count?: number;
}

/** Tells whether a feed has texts, and so differs between languages. */
export function hasTexts(feed: GbfsFeedName): boolean {
  return someField(gbfsFeeds[feed].fields, ({ kind }) => kind === "text" || kind === "textUri");
}

function someField(fields: Fields, matches: (type: FieldType) => boolean): boolean {
  const isIn = (type: FieldType): boolean =>
    matches(type) ||
    (type.item !== undefined && isIn(type.item)) ||
    (type.fields !== undefined && someField(type.fields, matches));
  return Object.values(fields).some((field: Field) => isIn(field.type));
}
