import { tooManyRecords } from "./bounded-json.ts";
import { ProblemLog, FeedFailure, type Problem } from "./problems.ts";
import { CLOCK_TOLERANCE_MS, RecordReader, type Rejection } from "./record-reader.ts";
import { identifierFrom, instantFrom, isObject, type JsonObject } from "./values.ts";

/** The records of one feed that can be used, by id. */
export interface Feed<Content> {
  readonly name: string;
  /** `last_updated`, milliseconds since 1970. */
  readonly at: number;
  readonly records: ReadonlyMap<string, Content>;
  /** Ids of records that could not be used. */
  readonly rejected: ReadonlySet<string>;
  /** Records that were left out, with or without an id. */
  readonly rejections: number;
  readonly problems: readonly Problem[];
  /** Fields of its records that we do not take, such as `rental_uris`. */
  readonly notTaken: readonly string[];
}

/** Fields that riders or cities may miss, since partners do not get them from us. */
const NOT_TAKEN = [
  ...["rental_uris", "rental_methods", "pricing_plan_id", "pricing_plans", "default_pricing_plan_id"],
  ...["station_area", "parking_type", "parking_hoop", "contact_phone", "cross_street", "post_code"],
  ...[
    "vehicle_capacity",
    "vehicle_type_capacity",
    "vehicle_docks_available",
    "current_fuel_percent",
    "home_station_id",
  ],
  ...["vehicle_equipment", "available_until", "is_charging_station"],
];

/** The location and format of the records of one kind of feed, in all versions. */
export interface FeedFormat<Content> {
  /** Names of the list under `data`. */
  readonly lists: readonly string[];
  /** Names of a record's id. */
  readonly ids: readonly [string, ...string[]];
  /** A feed with more is not read. */
  readonly maxRecords: number;
  readonly read: (reader: RecordReader, id: string) => Content | Rejection;
}

/**
 * Reads a feed's document, tolerantly: a problem with one record is logged and does not affect others. Ignores the declared
 * version, since feeds declare wrong ones; each field is recognised by its name in any version.
 * @param now milliseconds since 1970
 * @throws FeedFailure when no record can be used
 */
export function readFeed<Content extends object>(
  name: string,
  format: FeedFormat<Content>,
  document: unknown,
  now: number,
): Feed<Content> {
  const items = listIn(name, format, document);
  const problems = new ProblemLog(name);
  const at = snapshotTime(document, now, problems);
  const records = new Map<string, Content>();
  const rejected = new Set<string>();
  let rejections = 0;
  const reject = (record: string | null, rejection: Rejection) => {
    rejections++;
    problems.add({ record, ...rejection, action: "rejected" });
  };
  const notTaken = new Set<string>();
  for (const item of items) {
    if (isObject(item)) for (const field of NOT_TAKEN) if (item[field] !== undefined) notTaken.add(field);
    const { id, idField, content } = readItem(item, format, now, problems);
    if (isRejection(content)) {
      if (id !== null) rejected.add(id);
      reject(id, content);
    } else if (id !== null) {
      // The last of two records with one id wins, as in JSON itself.
      if (records.has(id)) reject(id, { field: idField, value: id, reason: "same_id_again_later" });
      records.set(id, content);
    }
  }
  for (const id of records.keys()) rejected.delete(id);
  if (records.size === 0) throw new FeedFailure(name, items.length ? "none of its records can be used" : "it is empty");
  return { name, at, records, rejected, rejections, problems: problems.list(), notTaken: [...notTaken].toSorted() };
}

function listIn(name: string, { lists, maxRecords }: FeedFormat<unknown>, document: unknown): readonly unknown[] {
  const data = dataOf(name, document);
  const items = lists.map((list) => data[list]).find((list) => Array.isArray(list));
  if (items === undefined) throw new FeedFailure(name, `it has no list \`${lists.join("` or `")}\` in its \`data\``);
  if (items.length <= maxRecords) return items;
  throw FeedFailure.from(name, tooManyRecords(maxRecords));
}

interface Item<Content> {
  /** Null where the item has no usable id, and so no content. */
  readonly id: string | null;
  readonly idField: string;
  readonly content: Content | Rejection;
}

function readItem<Content>(
  item: unknown,
  { ids, read }: FeedFormat<Content>,
  now: number,
  problems: ProblemLog,
): Item<Content> {
  if (!isObject(item)) return { id: null, idField: "", content: { field: "", value: item, reason: "not_an_object" } };
  const idField = ids.find((name) => item[name] !== undefined) ?? ids[0];
  const value = item[idField];
  const id = identifierFrom(value);
  if (id === undefined) return { id: null, idField, content: { field: idField, value, reason: "not_an_identifier" } };
  return { id, idField, content: read(new RecordReader(item, id, now, problems), id) };
}

function isRejection(content: object): content is Rejection {
  return "reason" in content;
}

/** Returns the `data` of a document. */
export function dataOf(name: string, document: unknown): JsonObject {
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) throw new FeedFailure(name, "it has no `data`");
  return data;
}

/** `last_updated`, or now where it is missing, or so far ahead that it would outrank the feed's next snapshots. */
export function snapshotTime(document: unknown, now: number, problems: ProblemLog): number {
  const at = lastUpdatedOf(document, now);
  if (at !== undefined) return at;
  const value = isObject(document) ? document["last_updated"] : undefined;
  const reason = (instantFrom(value) ?? 0) > now ? "in_the_future" : "not_an_instant";
  problems.add({ record: null, field: "last_updated", value, reason, action: "repaired" });
  return now;
}

/** `last_updated`; undefined: missing, or so far ahead that it cannot be believed. */
export function lastUpdatedOf(document: unknown, now: number): number | undefined {
  const at = instantFrom(isObject(document) ? document["last_updated"] : undefined);
  return at !== undefined && at > 0 && at <= now + CLOCK_TOLERANCE_MS ? at : undefined;
}
