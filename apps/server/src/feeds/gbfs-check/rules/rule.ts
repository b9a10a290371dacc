import type { GbfsFeedName, GbfsVersion } from "@bikeshare/contract";
import type { FeedSeverity } from "@bikeshare/contract/console";
import { isObject, type JsonObject } from "../../gbfs/values.ts";
import type { FeedDocument, FeedRecord, FeedSet } from "../feed-set.ts";

/** A place where a rule finds something. */
export interface Found {
  readonly file: string;
  readonly path: string;
  readonly id?: string | undefined;
  readonly value?: unknown;
  /** Instead of the rule's own. */
  readonly text?: string;
  readonly fix?: string;
  readonly severity?: FeedSeverity;
}

/** What the table of fields cannot say. */
export interface Rule {
  readonly id: string;
  readonly severity: FeedSeverity;
  /** The first version with it. */
  readonly since?: GbfsVersion;
  /** Feeds without which there is nothing to look at. */
  readonly needs?: readonly GbfsFeedName[];
  /** What is wrong where it finds something. */
  readonly text: string;
  readonly fix: string;
  /** What is fine where it finds nothing; absent: that is not worth a word. */
  readonly fine?: string;
  readonly find: (set: FeedSet) => Iterable<Found>;
}

/** A record with its feed. */
export interface PlacedRecord extends FeedRecord {
  readonly file: string;
  /** Returns a field by its newest name. */
  get(field: string): unknown;
  /** Returns the place of a field. */
  at(field: string, value?: unknown): Found;
}

/** Returns the records of a feed, with what rules ask of them. */
export function* recordsOf(set: FeedSet, name: GbfsFeedName): Generator<PlacedRecord> {
  const document = set.one(name);
  if (document === undefined) return;
  for (const record of document.records) {
    yield {
      ...record,
      file: document.file,
      get: (field) => set.get(name, record, field),
      at: (field, value) => ({
        ...{ file: document.file, id: record.id, path: `${record.path}.${set.nameOf(name, field)}` },
        value: value ?? set.get(name, record, field),
      }),
    };
  }
}

/** Returns the objects of a list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the texts of a list, such as ids. */
export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Returns the place of a field of `data`. */
export function inData(document: FeedDocument, field: string): Found {
  return { file: document.file, path: `data.${field}`, value: document.data[field] };
}

/** Returns the whole of a file that is missing or wrong. */
export function wholeFile(file: string, more: Partial<Found> = {}): Found {
  return { file, path: "", ...more };
}

/** Types whose vehicles have a motor. */
export function motorTypes(set: FeedSet): Set<string> {
  const motors = new Set<string>();
  for (const type of recordsOf(set, "vehicle_types")) {
    const propulsion = type.get("propulsion_type");
    if (type.id !== undefined && typeof propulsion === "string" && propulsion !== "human") motors.add(type.id);
  }
  return motors;
}
