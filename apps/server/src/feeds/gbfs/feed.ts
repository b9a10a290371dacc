import type { VehicleReport } from "../../fleet/bike-snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../fleet/station.rules.ts";
import { ProblemLog, shown, type Problem } from "./problems.ts";
import {
  CLOCK_TOLERANCE_MS,
  RecordReader,
  type Rejection,
  positionOf,
  vehiclesAvailable,
  vehicleTypesAvailable,
} from "./record-reader.ts";
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
  const future = at !== undefined && at > now + CLOCK_TOLERANCE_MS;
  if (at !== undefined && at > 0 && !future) return at;
  const reason = future ? "in_the_future" : "not_an_instant";
  const problem = { feed: name, record: null, field: "last_updated", value: shown(value), reason };
  problems.note(() => ({ ...problem, action: "repaired" }));
  return now;
}

/** The largest cities have some thousand stations and ten thousand vehicles. Higher lets one feed fill the memory. */
const MAX_RECORDS = 200_000;

const stationInformation: FeedForm<StationInformation> = {
  lists: ["stations"],
  ids: ["station_id"],
  maxRecords: MAX_RECORDS,
  read(reader, id) {
    const position = positionOf(reader.raw);
    if (typeof position === "string") {
      return { field: "lat,lon", value: [reader.raw["lat"], reader.raw["lon"]], reason: `position_${position}` };
    }
    const name = reader.text("name");
    if (name === null) reader.repaired("name", "missing");
    return {
      // A station that stands somewhere is worth listing whatever it is called.
      name: name ?? id,
      short_name: reader.text("short_name"),
      ...position,
      address: reader.text("address"),
      region_id: reader.identifier("region_id"),
      capacity: reader.count(["capacity"], null),
      is_virtual_station: reader.optionalFlag("is_virtual_station"),
    };
  },
};

const stationStatus: FeedForm<StationStatusReport> = {
  lists: ["stations"],
  ids: ["station_id"],
  maxRecords: MAX_RECORDS,
  read(reader) {
    const types = vehicleTypesAvailable(reader);
    return {
      // A flag that cannot be read is no outage: partners would be told that the station went offline.
      is_installed: reader.flag("is_installed", true),
      is_renting: reader.flag("is_renting", true),
      is_returning: reader.flag("is_returning", true),
      num_bikes_available: vehiclesAvailable(reader, types),
      num_bikes_disabled: reader.count(["num_bikes_disabled", "num_vehicles_disabled"], null),
      num_docks_available: reader.count(["num_docks_available"], null),
      num_docks_disabled: reader.count(["num_docks_disabled"], null),
      vehicle_types_available: types.json,
      last_reported: reader.instant("last_reported"),
    };
  },
};

const vehicles: FeedForm<VehicleReport> = {
  lists: ["vehicles", "bikes"],
  ids: ["vehicle_id", "bike_id"],
  maxRecords: MAX_RECORDS,
  read(reader) {
    const station_id = reader.identifier("station_id");
    const position = positionOf(reader.raw);
    if (typeof position === "string") {
      const value = [reader.raw["lat"], reader.raw["lon"]];
      if (station_id === null) return { field: "lat,lon", value, reason: `position_${position}` };
      if (position !== "missing") reader.repaired("lat", `position_${position}`);
    }
    return {
      number: reader.text("name"),
      vehicle_type_id: reader.identifier("vehicle_type_id"),
      is_reserved: reader.flag("is_reserved", false),
      is_disabled: reader.flag("is_disabled", false),
      station_id,
      position: typeof position === "string" ? undefined : position,
      current_range_meters: reader.metres("current_range_meters"),
      last_reported: reader.instant("last_reported"),
    };
  },
};

/** Reads a `station_information` document. @throws FeedFailure when nothing in it can be used */
export function readStationInformation(document: unknown, now: number): Feed<StationInformation> {
  return readFeed("station_information", stationInformation, document, now);
}

/** Reads a `station_status` document. @throws FeedFailure when nothing in it can be used */
export function readStationStatus(document: unknown, now: number): Feed<StationStatusReport> {
  return readFeed("station_status", stationStatus, document, now);
}

/** Reads a `free_bike_status` or `vehicle_status` document. @throws FeedFailure when nothing in it can be used */
export function readVehicles(name: string, document: unknown, now: number): Feed<VehicleReport> {
  return readFeed(name, vehicles, document, now);
}
