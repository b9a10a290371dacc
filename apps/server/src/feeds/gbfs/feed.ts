import { tooManyRecords } from "./bounded-json.ts";
import { FeedFailure, type Problem, ProblemLog } from "./problems.ts";
import {
  CLOCK_TOLERANCE_MS,
  type DocumentContext,
  RecordReader,
  type Rejection,
  UnknownFields,
} from "./record-reader.ts";
import { type Reference, References } from "./references.ts";
import { identifierFrom, instantFrom, isObject, type JsonObject } from "./values.ts";

/** The valid records of one feed, by id. */
export interface Feed<Content> {
  readonly name: string;
  /** `last_updated`, milliseconds since 1970. If that cannot be used: when the feed was read. */
  readonly at: number;
  readonly records: ReadonlyMap<string, Content>;
  /** Ids of records that were left out. */
  readonly rejected: ReadonlySet<string>;
  /** The number of records that were left out, with or without an id. */
  readonly rejections: number;
  readonly problems: readonly Problem[];
  /** Names of unknown fields of its records, which are ignored. */
  readonly notTaken: readonly string[];
  /** References of its records to other records. */
  readonly references: readonly Reference[];
}

/** The language of texts if the feed does not name one. */
export const DEFAULT_LANGUAGE = "en";

/** How to find and read the records of one kind of feed, in all versions of GBFS. */
export interface FeedFormat<Content> {
  /** The names that the list of records under `data` may have. */
  readonly lists: readonly string[];
  /** The names that the id field of a record may have. */
  readonly ids: readonly [string, ...string[]];
  /** Maximum records. A larger feed is rejected. */
  readonly maxRecords: number;
  /** Names of the fields of a record in any version. */
  readonly known: ReadonlySet<string>;
  readonly read: (reader: RecordReader, id: string) => Content | Rejection;
}

/**
 * Reads a feed's document tolerantly: a problem with one record is logged and does not affect other records. Ignores the
 * version that the document declares, because many feeds declare a wrong one. Recognises each field by its name in any
 * version.
 * @param now milliseconds since 1970
 * @param language the language of texts that do not name theirs
 * @throws FeedFailure when no record can be used
 */
export function readFeed<Content extends object>(
  name: string,
  format: FeedFormat<Content>,
  document: unknown,
  now: number,
  language: string = DEFAULT_LANGUAGE,
): Feed<Content> {
  const items = listIn(name, format, document);
  const problems = new ProblemLog(name);
  const unknownFields = new UnknownFields();
  const references = new References();
  const context = { now, language, problems, unknownFields, references };
  const at = snapshotTime(document, now, problems);
  const records = new Map<string, Content>();
  const rejected = new Set<string>();
  let rejections = 0;
  const reject = (record: string | null, rejection: Rejection) => {
    rejections++;
    problems.add({ record, ...rejection, action: "rejected" });
  };
  for (const item of items) {
    for (const field of isObject(item) ? Object.keys(item) : []) {
      if (!format.known.has(field)) unknownFields.add(field);
    }
    const { id, idField, content } = readItem(item, format, context);
    if (isRejection(content)) {
      if (id !== null) rejected.add(id);
      reject(id, content);
    } else if (id !== null) {
      // The last of two records with the same id wins, as in JSON. This reports the first, which `set` replaces.
      if (records.has(id)) reject(id, { field: idField, value: id, reason: "same_id_again_later" });
      records.set(id, content);
    }
  }
  // An id with a valid record counts as valid, even if another record with the id was left out.
  for (const id of records.keys()) rejected.delete(id);
  if (records.size === 0) throw new FeedFailure(name, items.length ? "none of its records can be used" : "it is empty");
  return {
    name,
    at,
    records,
    rejected,
    rejections,
    problems: problems.list(),
    notTaken: unknownFields.list(),
    references: references.list(),
  };
}

/** Returns the list of records. @throws FeedFailure when there is none, or it is too long */
function listIn(name: string, { lists, maxRecords }: FeedFormat<unknown>, document: unknown): readonly unknown[] {
  const data = dataOf(name, document);
  const items = lists.map((list) => data[list]).find((list) => Array.isArray(list));
  if (items === undefined) throw new FeedFailure(name, `it has no list \`${lists.join("` or `")}\` in its \`data\``);
  if (items.length <= maxRecords) return items;
  throw FeedFailure.from(name, tooManyRecords(maxRecords));
}

/** An item of the list of records, as it was read. */
interface Item<Content> {
  /** Null: the item has no valid id. Its `content` is then a rejection. */
  readonly id: string | null;
  readonly idField: string;
  readonly content: Content | Rejection;
}

function readItem<Content>(item: unknown, { ids, read }: FeedFormat<Content>, context: DocumentContext): Item<Content> {
  if (!isObject(item)) return { id: null, idField: "", content: { field: "", value: item, reason: "not_an_object" } };
  const idField = ids.find((name) => item[name] !== undefined) ?? ids[0];
  const value = item[idField];
  const id = identifierFrom(value);
  if (id === undefined) return { id: null, idField, content: { field: idField, value, reason: "not_an_identifier" } };
  return { id, idField, content: read(new RecordReader(item, id, context), id) };
}

function isRejection(content: object): content is Rejection {
  return "reason" in content;
}

/** Returns the `data` of a document. @throws FeedFailure when it has none */
export function dataOf(name: string, document: unknown): JsonObject {
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) throw new FeedFailure(name, "it has no `data`");
  return data;
}

/**
 * Returns `last_updated`. Returns `now` if it is missing, invalid, or so far in the future that the feed's next snapshots
 * would count as older.
 */
export function snapshotTime(document: unknown, now: number, problems: ProblemLog): number {
  const at = lastUpdatedOf(document, now);
  if (at !== undefined) return at;
  const value = isObject(document) ? document["last_updated"] : undefined;
  const reason = (instantFrom(value) ?? 0) > now ? "in_the_future" : "not_an_instant";
  problems.add({ record: null, field: "last_updated", value, reason, action: "repaired" });
  return now;
}

/** Returns `last_updated`; undefined: it is missing, invalid, or too far in the future. */
export function lastUpdatedOf(document: unknown, now: number): number | undefined {
  const at = instantFrom(isObject(document) ? document["last_updated"] : undefined);
  return at !== undefined && at > 0 && at <= now + CLOCK_TOLERANCE_MS ? at : undefined;
}
