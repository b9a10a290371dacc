import type { VehicleReport } from "../../city/fleet/bike-snapshot-decision.rules.ts";
import type { Position } from "../../city/fleet/bike.rules.ts";
import type { StationInformation, StationStatusReport } from "../../city/fleet/station.rules.ts";
import { readFeed, type Feed, type FeedFormat } from "./feed.ts";
import { GREATEST_INTEGER, type RecordReader, type Rejection } from "./record-reader.ts";
import { identifierFrom, isObject, numberFrom } from "./values.ts";

/** The largest cities have ten thousand vehicles. Higher lets one feed fill the memory. */
export const MAX_VEHICLES = 200_000;
/** The largest known source, of a whole country, has some ten thousand. Each takes three times a vehicle's memory. */
export const MAX_STATIONS = 20_000;

const stations = { lists: ["stations"], ids: ["station_id"], maxRecords: MAX_STATIONS } as const;

const stationInformation: FeedFormat<StationInformation> = {
  ...stations,
  read(reader, id) {
    const position = positionOf(reader);
    if ("reason" in position) return position;
    const name = reader.text("name");
    if (name === null) reader.repaired("name", "missing");
    return {
      // A station with a position is worth listing even without a name.
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

const stationStatus: FeedFormat<StationStatusReport> = {
  ...stations,
  read(reader) {
    const types = typesAvailable(reader);
    return {
      // A flag that cannot be read is no outage: partners would be notified that the station went offline.
      is_installed: reader.flag("is_installed", true),
      is_renting: reader.flag("is_renting", true),
      is_returning: reader.flag("is_returning", true),
      num_bikes_available: vehiclesAvailable(reader, types.total),
      num_bikes_disabled: reader.count(["num_bikes_disabled", "num_vehicles_disabled"], null),
      num_docks_available: reader.count(["num_docks_available"], null),
      num_docks_disabled: reader.count(["num_docks_disabled"], null),
      vehicle_types_available: types.json,
      last_reported: reader.instant("last_reported"),
    };
  },
};

const vehicles: FeedFormat<VehicleReport> = {
  lists: ["vehicles", "bikes"],
  ids: ["vehicle_id", "bike_id"],
  maxRecords: MAX_VEHICLES,
  read(reader) {
    const station_id = reader.identifier("station_id");
    const position = positionOf(reader);
    if ("reason" in position) {
      if (station_id === null) return position;
      if (position.reason !== "position_missing") reader.repaired("lat", position.reason);
    }
    return {
      number: reader.text("name"),
      vehicle_type_id: reader.identifier("vehicle_type_id"),
      is_reserved: reader.flag("is_reserved", false),
      is_disabled: reader.flag("is_disabled", false),
      station_id,
      position: "reason" in position ? undefined : position,
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

/** A record's position. 0°, 0° is open sea, and what software writes for "unknown". */
function positionOf({ raw: { lat, lon } }: RecordReader): Position | Rejection {
  const position = { lat: numberFrom(lat), lon: numberFrom(lon) };
  const rejected = (issue: string) => ({ field: "lat,lon", value: [lat, lon], reason: `position_${issue}` });
  if (position.lat === undefined || position.lon === undefined) return rejected("missing");
  if (Math.abs(position.lat) > 90 || Math.abs(position.lon) > 180) return rejected("out_of_range");
  if (position.lat === 0 && position.lon === 0) return rejected("null_island");
  return { lat: position.lat, lon: position.lon };
}

/** The vehicles at a station by their type. `json` is compact and ordered, as `StationStatusReport` wants it. */
interface TypesAvailable {
  readonly json: string;
  readonly total: number;
}

const NO_TYPES: TypesAvailable = { json: "[]", total: 0 };

/** Reads `vehicle_types_available`; items that cannot be read are left out. */
function typesAvailable(reader: RecordReader): TypesAvailable {
  const field = "vehicle_types_available";
  const listed = reader.raw[field] ?? [];
  const items: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const counts = new Map<string, number>();
  for (const item of items) {
    const id = isObject(item) ? identifierFrom(item["vehicle_type_id"]) : undefined;
    const count = isObject(item) ? numberFrom(item["count"]) : undefined;
    if (id !== undefined && count !== undefined && isCount(count) && !counts.has(id)) counts.set(id, count);
  }
  if (!Array.isArray(listed) || counts.size < items.length) reader.repaired(field, "unreadable_items");
  const types = [...counts].map(([vehicle_type_id, count]) => ({ vehicle_type_id, count }));
  const total = types.reduce((sum, { count }) => sum + count, 0);
  if (!isCount(total)) {
    reader.repaired(field, "too_large");
    return NO_TYPES;
  }
  return { json: JSON.stringify(types.sort((a, b) => (a.vehicle_type_id < b.vehicle_type_id ? -1 : 1))), total };
}

/**
 * The number of vehicles at a station: that of the feed, or the sum of its types where that is more. Some feeds count some
 * kinds of vehicle only among the types (Lyft's: scooters), and in GBFS the types add up to all vehicles.
 */
function vehiclesAvailable(reader: RecordReader, totalOfTypes: number): number {
  const fields = ["num_bikes_available", "num_vehicles_available"] as const;
  const count = reader.count(fields, 0);
  if (count >= totalOfTypes) return count;
  reader.repaired(fields.find((field) => reader.raw[field] !== undefined) ?? fields[0], "fewer_than_types");
  return totalOfTypes;
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= GREATEST_INTEGER;
}
