import type { BatchWarning, Bike, BikeReport, BikeUpsert, MessageArguments } from "@bikeshare/contract";
import { viewOf } from "@bikeshare/rules";
import type { Ids } from "../../ids.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { NamedStation } from "./station-queries.ts";

// Computes how reports, upserts and the ends of rides change a bike. The `reported_` values are what the operator or a feed
// last said of it. What readers see (`vehicle_state`, `station_id`, `lat`, `lon`) follows from them and from the bike's
// ride and reservation (`viewOf`).

/** States that a bike can be reported in; `reserved` and `on_trip` follow from reservations and rides. */
type ReportedState = Exclude<Bike["vehicle_state"], "reserved" | "on_trip">;

/**
 * A bike as commands read and write it. Before the first report of a bike its `reported_` values are those of its other
 * columns (`vehicle_state`, `station_id`, `lat`, `lon`).
 */
export interface BikeState extends Omit<
  Tables["bikes"],
  "system_id" | "updated_at" | "source" | "json" | "reported_state" | "source_facts" | "change_position"
> {
  readonly reported_state: ReportedState;
  /** The bike's source: `operator`, or the name of a feed; undefined for a bike that a command creates. */
  readonly source?: string;
}

/** Returns a bike with changed facts, and with the state that readers see because of them. */
export function changedBike(bike: BikeState, facts: Partial<BikeState>): BikeState {
  const changed = { ...bike, ...facts };
  return { ...changed, ...viewOf(changed) };
}

/** A position in WGS 84 degrees. */
export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** The reported location of a bike. */
export type ReportedLocation = Pick<BikeState, "reported_station_id" | "reported_lat" | "reported_lon">;

/**
 * Random bytes in a public id, which public feeds show instead of the bike's id: enough that no id occurs twice and none
 * can be guessed.
 */
const PUBLIC_ID_BYTES = 15;

/** Returns a random public id for a bike. It contains no timestamp, which would reveal when the last ride ended. */
export function newPublicId(ids: Ids): string {
  return `v_${Buffer.from(ids.randomBytes(PUBLIC_ID_BYTES)).toString("base64url")}`;
}

/** A value and when it was reported (milliseconds since 1970; null: before every report). */
export interface Dated<Value> {
  readonly at: number | null;
  readonly value: Value;
}

/**
 * Returns the later of a known value and a report. When both have the same time, returns the one whose JSON is greater, so
 * that the result does not depend on the order of arrival.
 */
export function later<Value>(known: Dated<Value>, reported: Dated<Value>): Dated<Value> {
  const knownAt = known.at ?? Number.NEGATIVE_INFINITY;
  const reportedAt = reported.at ?? Number.NEGATIVE_INFINITY;
  if (reportedAt !== knownAt) return reportedAt > knownAt ? reported : known;
  return JSON.stringify(reported.value) > JSON.stringify(known.value) ? reported : known;
}

/** States that may still be true after a ride: a rider can bring back a bike that is broken or was taken out of service. */
const LASTING_STATES: ReadonlySet<ReportedState> = new Set(["non_operational", "removed"]);

/** Warns that a ride's end makes a bike available that was reported broken or removed as of an earlier time. */
export function availableAgain(before: BikeState, after: Partial<BikeState>): BatchWarning | undefined {
  const { id: bike, reported_state: state, reported_state_at: at } = before;
  if (!LASTING_STATES.has(state) || after.reported_state !== "available" || at === null) return undefined;
  return ["availableAgain", { bike, state, at: at.toISOString() }];
}

/** The reported state of a bike, and its reason. */
type StateReport = Pick<BikeState, "reported_state" | "reported_reason">;

/** The state of a bike whose ride ended. */
export const BACK_FROM_RIDE: StateReport = { reported_state: "available", reported_reason: null };

/** Returns the last reported state of a bike, and when it was reported. */
export function datedState(bike: BikeState): Dated<StateReport> {
  const { reported_state, reported_reason } = bike;
  return { at: bike.reported_state_at?.getTime() ?? null, value: { reported_state, reported_reason } };
}

/** Returns the last reported location of a bike, and when it was reported. */
export function datedLocation(bike: BikeState): Dated<ReportedLocation> {
  const { reported_station_id, reported_lat, reported_lon } = bike;
  return {
    at: bike.reported_position_at?.getTime() ?? null,
    value: { reported_station_id, reported_lat, reported_lon },
  };
}

/** The stations that items name, by id, including removed ones. */
export type NamedStations = ReadonlyMap<string, NamedStation>;

/** Returns a station; undefined when it is unknown or removed. */
export function presentStation(stations: NamedStations, id: string): NamedStation | undefined {
  const station = stations.get(id);
  return station?.status === "removed" ? undefined : station;
}

/** Returns the arguments of the `not_found` message about a station that is unknown or removed. */
export function missingStation(stations: NamedStations, id: string): MessageArguments<"not_found"> {
  return [stations.has(id) ? "removedStation" : "namedStation", { id }];
}

/** An item that may name a location. */
export interface LocatedItem {
  readonly station_id?: string | null | undefined;
  readonly lat?: number | undefined;
  readonly lon?: number | undefined;
}

/** Returns the location that an item names, with its station's position if it gives none; undefined if it names neither. */
export function locationOf(item: LocatedItem, stations: NamedStations): ReportedLocation | undefined {
  if (item.station_id === undefined && item.lat === undefined) return undefined;
  const station = presentStation(stations, item.station_id ?? "");
  return {
    reported_station_id: item.station_id ?? null,
    reported_lat: item.lat ?? station?.lat ?? null,
    reported_lon: item.lon ?? station?.lon ?? null,
  };
}

/** No known location: neither a station nor a position. */
export const NOWHERE: ReportedLocation = { reported_station_id: null, reported_lat: null, reported_lon: null };

/** Returns the bike that an upsert creates. */
export function newBike(item: BikeUpsert, stations: NamedStations, now: Date, publicId: string): BikeState {
  const facts = {
    ride_id: null,
    reservation_id: null,
    reported_state: item.vehicle_state ?? "available",
    reported_reason: item.reason ?? null,
    ...(locationOf(item, stations) ?? NOWHERE),
  } as const;
  return {
    ...facts,
    ...viewOf(facts),
    id: item.id,
    number: item.number ?? null,
    vehicle_type_id: item.vehicle_type_id ?? null,
    current_range_meters: item.current_range_meters ?? null,
    last_reported: null,
    reported_state_at: now,
    reported_position_at: now,
    reported_range_at: now,
    public_id: publicId,
    last_event: null,
    battery_percent: item.battery_percent ?? null,
    reported_battery_at: now,
  };
}

/** Returns a bike after an upsert; the same object when nothing changes. */
export function upsertedBike(bike: BikeState, item: BikeUpsert, stations: NamedStations, now: Date): BikeState {
  const {
    number = bike.number,
    vehicle_type_id = bike.vehicle_type_id,
    vehicle_state: state = bike.reported_state,
  } = item;
  const range = item.current_range_meters === undefined ? bike.current_range_meters : item.current_range_meters;
  const location = locationOf(item, stations);
  const isLocationNew =
    location !== undefined && JSON.stringify(location) !== JSON.stringify(datedLocation(bike).value);
  const isStateNew = state !== bike.reported_state;
  const isRangeNew = range !== bike.current_range_meters;
  const battery = item.battery_percent === undefined ? bike.battery_percent : item.battery_percent;
  const isBatteryNew = battery !== bike.battery_percent;
  const isDescriptionNew = number !== bike.number || vehicle_type_id !== bike.vehicle_type_id;
  if (!isLocationNew && !isStateNew && !isRangeNew && !isBatteryNew && !isDescriptionNew) return bike;
  return changedBike(bike, {
    number,
    vehicle_type_id,
    ...(isStateNew ? { reported_state: state, reported_reason: item.reason ?? null, reported_state_at: now } : {}),
    ...(isLocationNew ? { ...location, reported_position_at: now } : {}),
    ...(isRangeNew ? { current_range_meters: range, reported_range_at: now } : {}),
    ...(isBatteryNew ? { battery_percent: battery, reported_battery_at: now } : {}),
  });
}

/** Returns a bike after its own report; the same object when the report contains nothing newer. */
export function reportedBike(bike: BikeState, item: BikeReport, at: Date, stations: NamedStations): BikeState {
  const isLater = <Value>(known: Dated<Value>, value: Value) => {
    const report = { at: at.getTime(), value };
    return later(known, report) === report;
  };
  const facts: { -readonly [Name in keyof BikeState]?: BikeState[Name] } = {};
  if (item.vehicle_state !== undefined) {
    const state = { reported_state: item.vehicle_state, reported_reason: item.reason ?? null };
    if (isLater(datedState(bike), state)) Object.assign(facts, state, { reported_state_at: at });
  }
  const location = locationOf(item, stations);
  if (location !== undefined && isLater(datedLocation(bike), location)) {
    Object.assign(facts, location, { reported_position_at: at });
  }
  const range = { at: bike.reported_range_at?.getTime() ?? null, value: bike.current_range_meters };
  if (item.current_range_meters !== undefined && isLater(range, item.current_range_meters)) {
    Object.assign(facts, { current_range_meters: item.current_range_meters, reported_range_at: at });
  }
  const battery = { at: bike.reported_battery_at?.getTime() ?? null, value: bike.battery_percent };
  if (item.battery_percent !== undefined && isLater(battery, item.battery_percent)) {
    Object.assign(facts, { battery_percent: item.battery_percent, reported_battery_at: at });
  }
  if (bike.last_reported === null || at > bike.last_reported) facts.last_reported = at;
  return Object.keys(facts).length === 0 ? bike : changedBike(bike, facts);
}
