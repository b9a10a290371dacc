import type { GbfsFeedName, GbfsVersion } from "@bikeshare/contract";
import type { FeedSeverity } from "@bikeshare/contract/console";
import { isObject, type JsonObject } from "../../gbfs/values.ts";
import type { FeedDocument, FeedRecord, FeedSet } from "../feed-set.ts";

/** A place of a feed at which a rule finds a problem. */
export interface Found {
  readonly file: string;
  /** The path of the value in question: `data.stations[12].capacity`; empty: the whole file. */
  readonly path: string;
  /** The id of the record. */
  readonly id?: string | undefined;
  readonly value?: unknown;
  /** Replaces the rule's own text. The same for `fix` and `severity`. */
  readonly text?: string;
  readonly fix?: string;
  readonly severity?: FeedSeverity;
}

/** A rule of the check of GBFS feeds. `structure.rules.ts` checks what the table of fields (`gbfsFeeds`) can express. */
export interface Rule {
  readonly id: string;
  readonly severity: FeedSeverity;
  /** The first version to which the rule applies. */
  readonly since?: GbfsVersion;
  /** The feeds without which the rule does not apply. */
  readonly needs?: readonly GbfsFeedName[];
  /** The problem, in words. */
  readonly text: string;
  /** What publishers should do about it, in words. */
  readonly fix: string;
  /** The sentence to report if the rule finds nothing; undefined: nothing is reported then. */
  readonly fine?: string;
  readonly find: (set: FeedSet) => Iterable<Found>;
}

/** A record that knows its file. */
export interface PlacedRecord extends FeedRecord {
  readonly file: string;
  /** Returns the value of a field. @param field its name in the newest version of GBFS, whatever the feed's version calls it */
  get(field: string): unknown;
  /** Returns the place of a field. */
  at(field: string, value?: unknown): Found;
}

/** Yields the records of a feed. */
export function* recordsOf(set: FeedSet, name: GbfsFeedName): Generator<PlacedRecord> {
  const document = set.one(name);
  if (document === undefined) return;
  for (const record of document.records) {
    yield {
      ...record,
      file: document.file,
      get: (field) => set.get(name, record, field),
      at: (field, value) => ({
        file: document.file,
        id: record.id,
        path: `${record.path}.${set.nameOf(name, field)}`,
        value: value ?? set.get(name, record, field),
      }),
    };
  }
}

/** Yields the zones that are objects, each with its place in the document. */
export function* zonesOf(set: FeedSet): Generator<{ file: string; path: string; properties: JsonObject }> {
  const document = set.one("geofencing_zones");
  const zones = document?.data["geofencing_zones"];
  if (document === undefined || !isObject(zones) || !Array.isArray(zones["features"])) return;
  // Counts all features, also those that are no objects: the path must lead to the zone in the publisher's document.
  for (const [index, feature] of (zones["features"] as readonly unknown[]).entries()) {
    if (!isObject(feature)) continue;
    const properties = isObject(feature["properties"]) ? feature["properties"] : {};
    yield { file: document.file, path: `data.geofencing_zones.features[${index}].properties`, properties };
  }
}

/** Returns the objects in a list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the strings in a list, such as ids. */
export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/** Returns the place of a field of `data`. */
export function inData(document: FeedDocument, field: string): Found {
  return { file: document.file, path: `data.${field}`, value: document.data[field] };
}

/** Returns the place that stands for a whole file. */
export function wholeFile(file: string, more: Partial<Found> = {}): Found {
  return { file, path: "", ...more };
}

/** Returns the ids of the types with a motor. */
export function motorTypes(set: FeedSet): Set<string> {
  const motors = new Set<string>();
  for (const type of recordsOf(set, "vehicle_types")) {
    const propulsion = type.get("propulsion_type");
    if (type.id !== undefined && typeof propulsion === "string" && propulsion !== "human") motors.add(type.id);
  }
  return motors;
}
