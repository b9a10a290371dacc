import type { VehicleReport } from "../../fleet/bike.ts";
import type { StationInformation, StationReadings } from "../../fleet/station.ts";
import { readFeed, type Feed, type FeedForm } from "./feed.ts";
import { positionOf, vehiclesAvailable, vehicleTypesAvailable } from "./record-reader.ts";

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

const stationStatus: FeedForm<StationReadings> = {
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
export function readStationStatus(document: unknown, now: number): Feed<StationReadings> {
  return readFeed("station_status", stationStatus, document, now);
}

/** Reads a `free_bike_status` or `vehicle_status` document. @throws FeedFailure when nothing in it can be used */
export function readVehicles(name: string, document: unknown, now: number): Feed<VehicleReport> {
  return readFeed(name, vehicles, document, now);
}
