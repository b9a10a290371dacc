import type { Bike, Station } from "../json-types.generated.ts";
import { type BikeRecord, type City, instant, type StationRecord } from "./city.ts";
import {
  compareIds,
  type CounterShift,
  counterShifts,
  freeDocks,
  standsInDock,
  timeOfChange,
  viewOf,
} from "./rules.ts";

/* The bikes of a fake, and the counters of stations that follow from them. city.ts describes what is stored of each. */

/** The location of a bike. */
export type BikeLocation = Pick<Bike, "station_id" | "lat" | "lon">;

/** Returns a bike as partners see it. */
export function shownBike({ reported, ride_id, reservation_id }: BikeRecord): Bike {
  const { vehicle_state: reported_state, station_id, lat, lon } = reported;
  // A test may put a bike into the state `on_trip` without a ride.
  const ride = reported_state === "on_trip" ? "unknown" : ride_id;
  const location = { reported_station_id: station_id, reported_lat: lat, reported_lon: lon };
  return { ...reported, ...viewOf({ ride_id: ride, reservation_id, reported_state, ...location }) };
}

/**
 * Returns the location of a bike at a station. An unknown station has no coordinates.
 * @throws Error for a removed station, where no bike can stand
 */
export function locationOf({ stations }: City, stationId: string | null): BikeLocation {
  const { lat = null, lon = null, status } = stations.get(stationId ?? "")?.shown ?? {};
  if (status === "removed") throw new Error(`station ${stationId} is removed`);
  return { station_id: stationId, lat, lon };
}

/** Changes a bike's ride, its reservation, or its reported state. */
export function changeBike(
  city: City,
  bike: BikeRecord,
  change: Partial<Omit<BikeRecord, "reported">>,
  report: Partial<Bike> = {},
): void {
  writeBike(city, { ...bike, ...change, reported: { ...bike.reported, updated_at: instant(city.now()), ...report } });
}

/** Writes a bike, and updates the counters of the station that it leaves and of the station that it comes to. */
export function writeBike(city: City, bike: BikeRecord): void {
  const stored = city.bikes.get(bike.reported.id);
  const [before, after] = [stored && shownBike(stored), shownBike(bike)];
  city.bikes.set(after.id, bike);
  // Given counters, like a feed's, include a new bike already.
  const shifts = before === undefined ? [] : counterShifts(before, after);
  for (const id of new Set([before?.station_id, after.station_id])) {
    const station = city.stations.get(id ?? "");
    if (station === undefined) continue;
    const counters = station.areCountersGiven
      ? shifted(station.shown, shifts)
      : { ...countBikesAt(city, station.shown.id), ...docksOf(city, station) };
    const shown = { ...station.shown, ...counters };
    if (JSON.stringify(shown) === JSON.stringify(station.shown)) continue;
    const updated_at = instant(timeOfChange(city.now(), Date.parse(shown.updated_at), false));
    city.stations.set(shown.id, { ...station, shown: { ...shown, updated_at } });
  }
}

/** Puts the bikes of a removed station outside a station: where they were reported, or else at the station's position. */
export function moveBikesOut(city: City, { id, lat, lon }: Station): void {
  for (const bike of [...city.bikes.values()].filter(({ reported }) => reported.station_id === id)) {
    const { lat: ownLat, lon: ownLon } = bike.reported;
    changeBike(city, bike, {}, { station_id: null, lat: ownLat ?? lat, lon: ownLon ?? lon });
  }
}

/**
 * Returns a station with a given number of free docks, which follow its bikes from then on. A station whose counters were
 * given stays as it is.
 * @param docks undefined: the number that was given before; null: unknown
 */
export function withDocks(city: City, station: StationRecord, docks: number | null | undefined): StationRecord {
  if (station.areCountersGiven) return station;
  const given = typeof docks === "number" ? docks + standingAt(city, station.shown.id) : docks;
  const based = { ...station, docksBase: given === undefined ? station.docksBase : given };
  return { ...based, shown: { ...station.shown, ...docksOf(city, based) } };
}

/** Returns how many bikes stand in docks of a station. */
function standingAt(city: City, stationId: string): number {
  return bikesAt(city, stationId).filter(standsInDock).length;
}

/** Returns the bikes that are shown at a station. A bike on a ride is at none. */
function bikesAt({ bikes }: City, stationId: string): Bike[] {
  return [...bikes.values()].map(shownBike).filter((bike) => bike.station_id === stationId);
}

/** Returns the free docks of a station whose bikes are counted. */
function docksOf(city: City, { shown, docksBase: base }: StationRecord): Pick<Station, "num_docks_available"> {
  const { id, capacity, num_docks_disabled: disabled } = shown;
  return { num_docks_available: freeDocks({ base, capacity, disabled, standing: standingAt(city, id) }) };
}

/** Counts a station's bikes, as the service does for operated counters, which follow the bikes and not a feed. */
export function countBikesAt(city: City, stationId: string): Partial<Station> {
  const here = bikesAt(city, stationId);
  const countOf = (state: string) => here.filter((bike) => bike.vehicle_state === state).length;
  const available = here.filter((bike) => bike.vehicle_state === "available");
  const types = [...new Set(here.flatMap((bike) => bike.vehicle_type_id ?? []))].sort(compareIds);
  return {
    num_bikes_available: available.length,
    num_bikes_reserved: countOf("reserved"),
    num_bikes_disabled: countOf("non_operational"),
    vehicle_types_available: types.map((type) => ({
      vehicle_type_id: type,
      count: available.filter((bike) => bike.vehicle_type_id === type).length,
    })),
  };
}

/** Returns given counters, adjusted by the changes of bikes since. */
function shifted(station: Station, shifts: readonly CounterShift[]): Partial<Station> {
  const here = shifts.filter(({ stationId }) => stationId === station.id);
  const sum = (counter: "available" | "reserved") => here.reduce((total, shift) => total + shift[counter], 0);
  return {
    num_bikes_available: Math.max(0, station.num_bikes_available + sum("available")),
    num_bikes_reserved: Math.max(0, station.num_bikes_reserved + sum("reserved")),
  };
}
