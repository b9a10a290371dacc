import type { Bike, Station } from "../json-types.generated.ts";
import { type BikeRecord, type City, instant, recordEvent, type StationRecord } from "./city.ts";
import {
  compareIds,
  type CounterShift,
  counterShifts,
  stationChangeEvent,
  type StationState,
  stationState,
  viewOf,
} from "./rules.ts";

/** A station as it is described. What is left out is filled in, or stays as it was. */
export type StationFields = Partial<Station> & Pick<Station, "id">;

/** A bike as it is described. What is left out is filled in, or stays as it was. */
export type BikeFields = Partial<Bike> & Pick<Bike, "id">;

/** Where a bike is. */
export type BikeLocation = Pick<Bike, "station_id" | "lat" | "lon">;

/**
 * Makes a station, or changes what is known of it. Its state follows from its flags unless it is given; where it goes
 * offline or comes online, that is an event.
 */
export function putStation(city: City, fields: StationFields): void {
  const held = city.stations.get(fields.id);
  const described = { ...(held?.shown ?? newStation(fields.id)), updated_at: instant(city.now()), ...fields };
  const wasInstalled = described.is_installed || held?.wasInstalled === true;
  const state = fields.status === undefined ? stateFromFlags(described, wasInstalled, held?.shown) : {};
  if (held !== undefined) return changeStation(city, held, { ...described, ...state }, wasInstalled);
  // Whoever gives a number of bikes speaks as a feed does; else the bikes are counted.
  const isMirrored = fields.num_bikes_available !== undefined;
  const counters = isMirrored ? {} : countBikesAt(city, fields.id);
  city.stations.set(fields.id, { shown: { ...described, ...counters, ...fields, ...state }, isMirrored, wasInstalled });
}

/** Takes a station offline until it is brought back. */
export function takeOffline(city: City, id: string): void {
  const held = existingStation(city, id);
  changeStation(city, held, { ...held.shown, status: "offline", offline_reason: "operator" });
}

/** Brings back a station that was taken offline: it is online if its flags say that it works. */
export function bringOnline(city: City, id: string): void {
  const held = existingStation(city, id);
  changeStation(city, held, { ...held.shown, ...stateFromFlags(held.shown, held.wasInstalled, undefined) });
}

/** Removes a station for good. Its rides stay. */
export function removeStation(city: City, id: string): void {
  const held = existingStation(city, id);
  changeStation(city, held, { ...held.shown, status: "removed", offline_reason: null });
}

function existingStation({ stations }: City, id: string): StationRecord {
  const held = stations.get(id);
  if (held === undefined) throw new Error(`there is no station ${id}`);
  return held;
}

function stateFromFlags(flags: Station, was_installed: boolean, held: Station | undefined): StationState {
  // A test may give a station a state that this package does not know yet; the rule then treats it as no state.
  return stationState(held as StationState | undefined, { ...flags, was_installed, absent_snapshots: 0 });
}

function changeStation(city: City, held: StationRecord, shown: Station, wasInstalled = held.wasInstalled): void {
  const event = stationChangeEvent(held.shown.status, shown.status);
  held.shown = { ...shown, updated_at: instant(city.now()) };
  held.wasInstalled = wasInstalled;
  if (event !== undefined) recordEvent(city, event, held.shown);
}

/** Makes a bike, or changes what is known of it. */
export function putBike(city: City, fields: BikeFields): void {
  const held = city.bikes.get(fields.id);
  const reported = {
    ...(held?.reported ?? newBike(fields.id)),
    // A bike that is put at a station is where the station is, unless something else is said.
    ...(fields.station_id === undefined ? {} : locationOf(city, fields.station_id)),
    updated_at: instant(city.now()),
    ...fields,
  };
  writeBike(city, { ride_id: null, reservation_id: null, ...held, reported });
}

/** Changes who rides or holds a bike, or where it is. */
export function changeBike(
  city: City,
  bike: BikeRecord,
  change: Partial<Pick<BikeRecord, "ride_id" | "reservation_id">>,
  location?: BikeLocation,
): void {
  writeBike(city, { ...bike, ...change, reported: { ...bike.reported, ...location, updated_at: instant(city.now()) } });
}

/** How a bike is shown. */
export function shownBike({ reported, ride_id, reservation_id }: BikeRecord): Bike {
  const { vehicle_state: reported_state, station_id, lat, lon } = reported;
  // A test may say that a bike is on a trip without saying on which.
  const ride = reported_state === "on_trip" ? "unknown" : ride_id;
  const location = { reported_station_id: station_id, reported_lat: lat, reported_lon: lon };
  return { ...reported, ...viewOf({ ride_id: ride, reservation_id, reported_state, ...location }) };
}

/** Where a station is; nobody knows where a station is that is not known. */
export function locationOf(city: City, stationId: string | null): BikeLocation {
  const station = stationId === null ? undefined : city.stations.get(stationId)?.shown;
  return { station_id: stationId, lat: station?.lat ?? null, lon: station?.lon ?? null };
}

function writeBike(city: City, bike: BikeRecord): void {
  const held = city.bikes.get(bike.reported.id);
  const [before, after] = [held && shownBike(held), shownBike(bike)];
  city.bikes.set(after.id, bike);
  // A bike that is only now known was in a feed's numbers before.
  const shifts = before === undefined ? [] : counterShifts(before, after);
  for (const id of new Set([before?.station_id, after.station_id])) {
    const station = city.stations.get(id ?? "");
    if (station === undefined) continue;
    const counters = station.isMirrored ? shifted(station.shown, shifts) : countBikesAt(city, station.shown.id);
    const shown = { ...station.shown, ...counters };
    if (JSON.stringify(shown) === JSON.stringify(station.shown)) continue;
    station.shown = { ...shown, updated_at: instant(city.now()) };
  }
}

type Counters = Pick<
  Station,
  "num_bikes_available" | "num_bikes_reserved" | "num_bikes_disabled" | "vehicle_types_available"
>;

/** Counts a station's bikes, as the service does for the operator's own stations. */
function countBikesAt(city: City, stationId: string): Counters {
  const here = [...city.bikes.values()].map(shownBike).filter((bike) => bike.station_id === stationId);
  const available = here.filter((bike) => bike.vehicle_state === "available");
  const types = [...new Set(here.flatMap((bike) => bike.vehicle_type_id ?? []))].sort(compareIds);
  return {
    num_bikes_available: available.length,
    num_bikes_reserved: here.filter((bike) => bike.vehicle_state === "reserved").length,
    num_bikes_disabled: here.filter((bike) => bike.vehicle_state === "non_operational").length,
    vehicle_types_available: types.map((type) => ({
      vehicle_type_id: type,
      count: available.filter((bike) => bike.vehicle_type_id === type).length,
    })),
  };
}

/** Changes counters that a feed gave by what changed since, until the feed speaks again. */
function shifted(station: Station, shifts: readonly CounterShift[]): Partial<Counters> {
  const here = shifts.filter(({ stationId }) => stationId === station.id);
  const sum = (counter: "available" | "reserved") => here.reduce((total, shift) => total + shift[counter], 0);
  return {
    num_bikes_available: Math.max(0, station.num_bikes_available + sum("available")),
    num_bikes_reserved: Math.max(0, station.num_bikes_reserved + sum("reserved")),
  };
}

function newBike(id: string): Bike {
  return {
    id,
    number: null,
    vehicle_type_id: null,
    vehicle_state: "available",
    station_id: null,
    lat: null,
    lon: null,
    current_range_meters: null,
    last_reported: null,
    updated_at: "",
  };
}

function newStation(id: string): Station {
  return {
    id,
    name: `Station ${id}`,
    short_name: null,
    lat: 47.3769,
    lon: 8.5417,
    address: null,
    region_id: null,
    capacity: null,
    is_virtual_station: false,
    is_installed: true,
    is_renting: true,
    is_returning: true,
    num_bikes_available: 0,
    num_bikes_reserved: 0,
    num_bikes_disabled: null,
    num_docks_available: null,
    num_docks_disabled: null,
    vehicle_types_available: [],
    status: "online",
    offline_reason: null,
    last_reported: null,
    updated_at: "",
  };
}
