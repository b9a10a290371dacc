import { ProblemLog } from "./problem-log.ts";
import { shown, type Problem } from "./problem.ts";
import { CLOCK_TOLERANCE, RecordReader } from "./record-reader.ts";
import type { Rejection } from "./record-reader.ts";
import { identifierFrom, instantFrom, isObject } from "./values.ts";
import type { JsonObject } from "./values.ts";

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
  /** Problems beyond those that were kept. */
  readonly omittedProblems: number;
}

/** A feed that is no snapshot: it could not be got or read, or it has nothing in it. */
export class FeedFailure extends Error {
  override readonly name = "FeedFailure";
  readonly feed: string;
  /** Milliseconds for which its server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;

  constructor(feed: string, reason: string, options?: ErrorOptions & { readonly retryAfterMs?: number | null }) {
    super(reason, options);
    this.feed = feed;
    this.retryAfterMs = options?.retryAfterMs ?? null;
  }
}

/** How the records of one kind of feed are found and read, in all versions. */
export interface FeedForm<Content> {
  /** Names of the list under `data`. */
  readonly lists: readonly string[];
  /** Names of a record's id. */
  readonly ids: readonly string[];
  /** A feed with more is not read. */
  readonly maxRecords: number;
  readonly read: (reader: RecordReader, id: string) => Content | Rejection;
}

/**
 * Reads a feed's document, tolerantly: what is wrong with one record is noted and touches no other. The version
 * it claims is not looked at, since feeds claim wrong ones; each field is known by its name in any version.
 * @param now milliseconds since 1970
 * @throws FeedFailure when not one record can be used
 */
export function readFeed<Content extends object>(
  name: string,
  form: FeedForm<Content>,
  document: unknown,
  now: number,
): Feed<Content> {
  const problems = new ProblemLog();
  const items = listIn(name, form.lists, document);
  if (items.length > form.maxRecords) {
    throw new FeedFailure(name, `it has more than ${form.maxRecords.toLocaleString("en")} records`);
  }
  const records = new Map<string, Content>();
  const rejected = new Set<string>();
  let rejections = 0;
  const reject = (record: string | null, { field, value, reason }: Rejection) => {
    rejections++;
    problems.note(() => ({ feed: name, record, field, value: shown(value), reason, action: "rejected" }));
  };
  for (const item of items) {
    const idField = isObject(item) ? (form.ids.find((field) => item[field] !== undefined) ?? form.ids[0] ?? "id") : "";
    const id = isObject(item) ? identifierFrom(item[idField]) : undefined;
    if (!isObject(item)) reject(null, { field: "", value: item, reason: "not_an_object" });
    else if (id === undefined) reject(null, { field: idField, value: item[idField], reason: "not_an_identifier" });
    else {
      const content = form.read(new RecordReader(item, now, noteRepairs(name, id, item, problems)), id);
      if (isRejection(content)) {
        rejected.add(id);
        reject(id, content);
      } else {
        // As in JSON itself, the last of two wins.
        if (records.has(id)) reject(id, { field: idField, value: id, reason: "same_id_again_later" });
        records.set(id, content);
      }
    }
  }
  for (const id of records.keys()) rejected.delete(id);
  if (records.size === 0) throw new FeedFailure(name, items.length ? "none of its records can be used" : "it is empty");
  const at = snapshotTime(name, document, now, problems);
  return { name, at, records, rejected, rejections, problems: problems.kept, omittedProblems: problems.omitted };
}

function noteRepairs(feed: string, record: string, raw: JsonObject, problems: ProblemLog) {
  return (field: string, reason: string) => {
    problems.note(() => ({ feed, record, field, value: shown(raw[field]), reason, action: "repaired" }));
  };
}

function isRejection(content: object): content is Rejection {
  return "reason" in content;
}

function listIn(name: string, lists: readonly string[], document: unknown): readonly unknown[] {
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) throw new FeedFailure(name, "it has no `data`");
  for (const list of lists) {
    const items = data[list];
    if (Array.isArray(items)) return items;
  }
  throw new FeedFailure(name, `it has no list \`${lists.join("` or `")}\` in its \`data\``);
}

/** `last_updated`, or now where the feed does not say, or says a time that would outrank its next snapshots. */
export function snapshotTime(name: string, document: unknown, now: number, problems: ProblemLog): number {
  const value = isObject(document) ? document["last_updated"] : undefined;
  const at = instantFrom(value);
  const future = at !== undefined && at > now + CLOCK_TOLERANCE;
  if (at !== undefined && at > 0 && !future) return at;
  const reason = future ? "in_the_future" : "not_an_instant";
  const problem = { feed: name, record: null, field: "last_updated", value: shown(value), reason };
  problems.note(() => ({ ...problem, action: "repaired" }));
  return now;
}
