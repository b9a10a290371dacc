import { createHash } from "node:crypto";
import { type Fields, type GbfsFeed, gbfsFeeds } from "@bikeshare/contract";
import { languageFrom } from "../../city/descriptions/lenient-values.rules.ts";
import { MAX_DOCUMENT_BYTES, tooManyRecords } from "./bounded-json.ts";
import { currentRecord, isComplete, readObject, readValue } from "./canonical.ts";
import { dataOf, DEFAULT_LANGUAGE, snapshotTime } from "./feed.ts";
import { FeedFailure, type Problem, ProblemLog } from "./problems.ts";
import { boundedJson, type DocumentContext, RecordReader, UnknownFields } from "./record-reader.ts";
import { type Reference, References } from "./references.ts";
import { identifierFrom, isObject, type JsonObject } from "./values.ts";

/** The feeds that describe a system as a whole, in the order in which they are read. */
export const descriptiveFeeds = [
  "system_information",
  "vehicle_types",
  "system_regions",
  "system_pricing_plans",
  "system_alerts",
  "geofencing_zones",
  "system_hours",
  "system_calendar",
] as const;

export type DescriptiveFeed = (typeof descriptiveFeeds)[number];

/** The content of one document that describes the system as a whole. */
export interface Description {
  readonly feed: DescriptiveFeed;
  /** The document's `last_updated`, in milliseconds since 1970. If that cannot be used: when the document was read. */
  readonly at: number;
  readonly problems: readonly Problem[];
  /** Names of unknown fields, which are ignored. */
  readonly notTaken: readonly string[];
  /** The ids of its records; empty: they have none. */
  readonly ids: readonly string[];
  /** The references of its records to other records. */
  readonly references: readonly Reference[];
  /**
   * The content in canonical form, as JSON: an array of records, or an object for `system_information` and
   * `geofencing_zones`. Equal content has equal JSON. It stays text because the zones of a city have megabytes.
   */
  readonly json: string;
  /** A hash of `json`, by which new content is recognised. */
  readonly digest: string;
  /** The `system_id` that `system_information` gives. */
  readonly publishedId?: string;
  /** The language that `system_information` gives. */
  readonly language?: string;
}

/** Maximum records of a feed. */
const MAX_RECORDS = 10_000;
/** Maximum characters of a record. The outline of a large city takes 200,000. */
const MAX_RECORD_LENGTH = 500_000;

/**
 * Reads a document that describes the system.
 * @param language the language of texts that do not name theirs
 * @throws FeedFailure when nothing in the document can be used
 */
export function readDescription(
  feed: DescriptiveFeed,
  document: unknown,
  now: number,
  language: string = DEFAULT_LANGUAGE,
): Description {
  const data = dataOf(feed, document);
  const problems = new ProblemLog(feed);
  const at = snapshotTime(document, now, problems);
  const context: DocumentContext = {
    now,
    language,
    problems,
    unknownFields: new UnknownFields(),
    references: new References(),
  };
  const { json, ...more } = feed === "system_information" ? readSystem(data, context) : readData(feed, data, context);
  if (json.length > MAX_DOCUMENT_BYTES) throw new FeedFailure(feed, "it says too much to be kept");
  const digest = createHash("sha256").update(json).digest("base64");
  return {
    feed,
    at,
    json,
    digest,
    ...more,
    problems: problems.list(),
    notTaken: context.unknownFields.list(),
    references: context.references.list(),
  };
}

/** Reads `system_information`, whose `data` is the only record. */
function readSystem(
  data: JsonObject,
  context: DocumentContext,
): Pick<Description, "json" | "ids" | "publishedId" | "language"> {
  // GBFS 3.x lists the languages, the main one first. Older documents have one language for all of their texts.
  const { languages } = data;
  const language = languageFrom(Array.isArray(languages) ? languages[0] : data["language"]);
  const reader = new RecordReader(data, null, { ...context, language: language ?? context.language });
  // Gives the language in the fields of old and new versions, because canonical form has both.
  const known =
    language === undefined ? {} : { language, languages: Array.isArray(languages) ? languages : [language] };
  const system = readObject(gbfsFeeds.system_information.fields, { ...data, ...known }, reader, "") ?? {};
  const publishedId = system["system_id"];
  return {
    ids: [],
    json: boundedJson(system, MAX_RECORD_LENGTH, reader) ?? "{}",
    ...(typeof publishedId === "string" && { publishedId }),
    ...(language !== undefined && { language }),
  };
}

/** Reads the records of any feed but `system_information`. Only feeds whose records have ids return `ids`. */
function readData(
  feed: Exclude<DescriptiveFeed, "system_information">,
  data: JsonObject,
  context: DocumentContext,
): Pick<Description, "json" | "ids"> {
  if (feed === "geofencing_zones") return { json: readZones(data, context), ids: [] };
  const { fields, records }: GbfsFeed = gbfsFeeds[feed];
  // A feed whose items have no ids, such as `system_hours`, has one field: its list.
  const [list] = records ? [records.list] : Object.keys(fields);
  if (list === undefined) throw new Error(`The table of feeds has no field of ${feed}.`);
  const items = itemsIn(feed, data, list);
  const ofItem = fields[list]?.type.item?.fields ?? {};
  const byId = records && readRecords(feed, items, { fields: ofItem, idField: records.id }, context);
  const read = byId ? [...byId.values()] : readItems(feed, items, ofItem, context);
  if (items.length > 0 && read.length === 0) throw new FeedFailure(feed, "none of its records can be used");
  return { json: `[${read.join(",")}]`, ids: [...(byId?.keys() ?? [])] };
}

/** Returns the items of a list in `data`. @throws FeedFailure when there is no such list, or it has too many items */
function itemsIn(feed: DescriptiveFeed, data: JsonObject, list: string): readonly unknown[] {
  const items = data[list];
  if (!Array.isArray(items)) throw new FeedFailure(feed, `it has no list \`${list}\` in its \`data\``);
  if (items.length > MAX_RECORDS) throw FeedFailure.from(feed, tooManyRecords(MAX_RECORDS));
  return items as readonly unknown[];
}

/** Parses records in the order of their ids, so that equal lists have equal JSON. */
function readRecords(
  feed: DescriptiveFeed,
  items: readonly unknown[],
  { fields, idField }: { readonly fields: Fields; readonly idField: string },
  context: DocumentContext,
): ReadonlyMap<string, string> {
  const reject = (record: string | null, field: string, value: unknown, reason: string) =>
    context.problems.add({ record, field, value, reason, action: "rejected" });
  const records = new Map<string, string>();
  for (const item of items) {
    const id = isObject(item) ? identifierFrom(item[idField]) : undefined;
    if (!isObject(item)) reject(null, "", item, "not_an_object");
    else if (id === undefined) reject(null, idField, item[idField], "not_an_identifier");
    else {
      // The last of two records with the same id wins, as in JSON.
      if (records.has(id)) reject(id, idField, id, "same_id_again_later");
      const reader = new RecordReader(item, id, context);
      const [json] = jsonOf(readObject(fields, currentRecord(feed, item), reader, "") ?? {}, reader);
      if (json !== undefined) records.set(id, json);
    }
  }
  return new Map([...records].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Parses a list of items that have no ids. Keeps their order. */
function readItems(feed: DescriptiveFeed, items: readonly unknown[], fields: Fields, context: DocumentContext) {
  return items.flatMap((item, index) => {
    // Problems name the item by its number, because it has no id.
    const reader = new RecordReader(isObject(item) ? item : {}, `${index + 1}`, context);
    const read = isObject(item) ? readObject(fields, currentRecord(feed, item), reader, "") : undefined;
    if (read === undefined) reader.problem("", item, "not_an_object");
    return read === undefined || !isComplete(fields, read, reader, "") ? [] : jsonOf(read, reader);
  });
}

/** Returns a record as JSON, and collects its references. Empty: no field of the record is left. */
function jsonOf(record: JsonObject, reader: RecordReader): string[] {
  reader.refers(record);
  return [boundedJson(record, MAX_RECORD_LENGTH, reader)].filter((json) => json !== null);
}

/** Parses `geofencing_zones`. Keeps the order of the zones, because the first of two overlapping zones applies. */
function readZones(data: JsonObject, context: DocumentContext): string {
  const feed = "geofencing_zones";
  const { geofencing_zones: zones, global_rules: rules }: Fields = gbfsFeeds[feed].fields;
  const features = itemsIn(feed, isObject(data[feed]) ? data[feed] : {}, "features");
  const ofFeature = zones?.type.fields?.["features"]?.type.item?.fields ?? {};
  const read = readItems(feed, features, ofFeature, context);
  if (features.length > 0 && read.length === 0) throw new FeedFailure(feed, "none of its records can be used");
  const reader = new RecordReader(data, null, context);
  const global = rules && readValue(rules.type, data["global_rules"], reader, "global_rules");
  reader.refers(global);
  return `{"features":[${read.join(",")}]${global === undefined ? "" : `,"global_rules":${JSON.stringify(global)}`}}`;
}
