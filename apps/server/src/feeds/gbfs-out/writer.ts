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
  INTERNATIONAL_PHONE,
  isAtLeast,
  type LocalText,
  stationInformationFields,
  systemInformation,
  type ValueOf,
  zoneRuleFields,
} from "@bikeshare/contract";
import { EARLIEST_MS, NO_ADDRESS } from "./defaults.ts";

// Converts data from canonical form, which is that of GBFS 3.1, to a version of GBFS. The conversion of each feed and
// version is made once, from the table of fields (`gbfsFeeds`). Parts that are the same in both are not copied, so that
// JSON.stringify does most of the work.

/** The languages of a document. They matter before 3.0 only, when texts have one language. */
export interface DocumentLanguages {
  /** The language of the document. */
  readonly wanted: string;
  /** The system's main language, for texts that lack the document's language. */
  readonly main: string;
}

/** Converts a canonical value to a version. */
type Convert = (value: unknown, languages: DocumentLanguages) => unknown;

type CanonicalRecord = Readonly<Record<string, unknown>>;

/** The canonical `data` of a feed. */
export type FeedData<Feed extends GbfsFeedName> = ValueOf<(typeof gbfsFeeds)[Feed]["fields"]>;

/** Returns a feed's `data` as JSON in a version of GBFS. @param data the `data` in canonical form */
export function writeData<Feed extends GbfsFeedName>(
  feed: Feed,
  data: FeedData<Feed>,
  version: GbfsVersion,
  languages: DocumentLanguages,
): string {
  const key = `${version}/${feed}`;
  const convert = converters.get(key) ?? feedConverter(feed, version) ?? same;
  converters.set(key, convert);
  return JSON.stringify(convert(data, languages));
}

/** The conversions that were made, by version and feed. */
const converters = new Map<string, Convert>();
const same: Convert = (value) => value;

/** Makes the conversion of a feed; undefined: the feed has no records, and the version has it in canonical form. */
function feedConverter(feed: GbfsFeedName, version: GbfsVersion): Convert | undefined {
  const { fields, records }: GbfsFeed = gbfsFeeds[feed];
  const rename = (field: string) => fieldNameIn(version, feed, field);
  const list = records && fields[records.list];
  const recordFields = list?.type.item?.fields;
  if (records === undefined || recordFields === undefined) return objectConverter(fields, version);
  // Renames the list of records and the fields of the records to the names that the version has.
  const convertItems = listConverter(objectConverter(recordFields, version, rename)) ?? same;
  const name = rename(records.list);
  return (data, languages) => ({ [name]: convertItems((data as CanonicalRecord)[records.list] ?? [], languages) });
}

/** The conversion of one field of a record. */
interface FieldConversion {
  readonly name: string;
  /** The field's name in the version. */
  readonly newName: string;
  /** Derives the value from other fields when the version gives the field another meaning. */
  readonly derive: Derive | undefined;
  readonly convert: Convert | undefined;
}

/** Makes the conversion of an object with these fields; undefined: the version has the object in canonical form. */
function objectConverter(
  fields: Fields,
  version: GbfsVersion,
  rename: (name: string) => string = (name) => name,
): Convert | undefined {
  const derived = isAtLeast(version, "3.0") ? undefined : before30.get(fields);
  const conversions: FieldConversion[] = Object.entries(fields)
    .filter(([, field]) => hasField(version, field))
    .map(([name, field]: [string, Field]) => ({
      name,
      newName: rename(name),
      derive: derived?.[name],
      convert: converterOf(field.type, version),
    }));
  const isSame = ({ name, newName, derive, convert }: FieldConversion) =>
    name === newName && derive === undefined && convert === undefined;
  // Fields that later versions dropped (`until`) need not be left out, because no canonical record has them.
  const isLeftOut = (field: Field) => field.until === undefined && !hasField(version, field);
  if (conversions.every(isSame) && !Object.values(fields).some(isLeftOut)) return undefined;
  return (value, languages) => {
    // The table of fields says that this value is an object.
    const record = value as CanonicalRecord;
    const converted: Record<string, unknown> = {};
    for (const { name, newName, derive, convert } of conversions) {
      const given = derive === undefined ? record[name] : derive(record, languages);
      if (given !== undefined) converted[newName] = convert === undefined ? given : convert(given, languages);
    }
    return converted;
  };
}

/** Makes the conversion of a value; undefined: the version has it in canonical form. */
function converterOf(type: FieldType, version: GbfsVersion): Convert | undefined {
  const isSince30 = isAtLeast(version, "3.0");
  switch (type.kind) {
    case "text":
    case "textUri":
      return isSince30 ? undefined : oneText;
    case "instant":
      return isSince30 ? undefined : seconds;
    case "phone":
      return isSince30 ? internationalPhone : undefined;
    case "list":
      return type.item && listConverter(converterOf(type.item, version));
    case "object":
      return objectConverter(type.fields ?? {}, version);
    default:
      return undefined;
  }
}

/** Makes the conversion of a list from that of its items. */
function listConverter(convert: Convert | undefined): Convert | undefined {
  return convert && ((items, languages) => (items as readonly unknown[]).map((item) => convert(item, languages)));
}

/** Chooses one text of several languages: that of the document, of the system, or the first. */
const oneText: Convert = (value, languages) => {
  const texts = value as readonly LocalText[];
  const inLanguage = (wanted: string) => texts.find(({ language }) => language === wanted);
  return (inLanguage(languages.wanted) ?? inLanguage(languages.main) ?? texts[0])?.text;
};

/** Converts an instant to seconds since 1970. Older versions reject times before GBFS existed. */
const seconds: Convert = (instant) => Math.floor(Math.max(Date.parse(String(instant)), EARLIEST_MS) / 1000);

/** Leaves out a phone number without a country code. GBFS 3.0 does not accept it, but older versions do. */
const internationalPhone: Convert = (value) => (INTERNATIONAL_PHONE.test(String(value)) ? value : undefined);

/** Derives the value of a field from a canonical record. */
type Derive = (record: CanonicalRecord, languages: DocumentLanguages) => unknown;

/** Fields that versions before 3.0 define differently. */
const before30 = new Map<Fields, Readonly<Record<string, Derive>>>([
  [
    systemInformation,
    {
      language: (_, { wanted }) => wanted,
      license_url: ({ license_id: id, license_url: url }) =>
        typeof id === "string" ? `https://spdx.org/licenses/${id}.html` : url,
      // Older versions do not require an address, so the placeholder is left out.
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

/** Converts counts of sets of types to counts of single types. Each type of a set gets the whole count of the set. */
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

/** Tells whether a field of an object matches, at any depth. */
function someField(fields: Fields, matches: (type: FieldType) => boolean): boolean {
  const isIn = (type: FieldType): boolean =>
    matches(type) ||
    (type.item !== undefined && isIn(type.item)) ||
    (type.fields !== undefined && someField(type.fields, matches));
  return Object.values(fields).some((field: Field) => isIn(field.type));
}
