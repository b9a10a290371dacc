import type { CityLife } from "./city-life.ts";
import { type City, type CityBike, type CityStation, EBIKE_RANGE_METERS } from "./city.ts";
import type { RideUnderWay } from "./history.ts";
import type { Command, ObservedCity } from "./operator-client.ts";
import { createRandom } from "./random.ts";

/*
 * The beginning of a simulation: creates in the service the stations and bikes that it lacks, ends the rides that an
 * interrupted run left, and tells the simulated life where each bike is.
 */

/** The city that is created, and how its commands are sent. */
export interface BootstrapOptions {
  readonly city: City;
  readonly seed: number;
  readonly life: CityLife;
  /** The simulated time at which the simulation begins. */
  readonly time: number;
  readonly send: (command: Command) => void;
  /** Resolves when the service has acknowledged everything sent. */
  readonly flush: () => Promise<void>;
  /** Rides that were under way when the city's history was made. */
  readonly underWay?: readonly RideUnderWay[] | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** States of bikes that can be rented now or soon. Bikes in other states are returned to a station later. */
const RIDABLE_STATES: ReadonlySet<string> = new Set(["available", "reserved"]);

/** Returns the commands with which the operator creates the stations and bikes of a city. */
export function describeCity(
  city: City,
  standing: ReadonlyMap<CityBike, CityStation>,
): { readonly stations: Command<"stations">[]; readonly bikes: Command<"bikes">[] } {
  return {
    stations: city.stations.map((station) => ({
      path: "stations",
      subjectId: station.id,
      item: {
        id: station.id,
        name: station.name,
        lat: station.lat,
        lon: station.lon,
        capacity: station.capacity,
        region_id: station.regionId,
        is_installed: true,
        is_renting: true,
        is_returning: true,
      },
    })),
    bikes: [...standing].map(([bike, station]) => ({
      path: "bikes",
      subjectId: bike.id,
      item: {
        id: bike.id,
        number: bike.id.slice(-4),
        vehicle_type_id: bike.vehicleTypeId,
        vehicle_state: "available",
        station_id: station.id,
        current_range_meters: bike.isElectric ? EBIKE_RANGE_METERS : null,
      },
    })),
  };
}

/**
 * Creates the stations and bikes that the service does not have, and continues with those that it has. Without `observed`
 * everything is created. Resolves when the service has acknowledged everything.
 */
export async function bootstrapCity(options: BootstrapOptions, observed: ObservedCity | undefined): Promise<void> {
  const { city, seed, send, flush, underWay = [] } = options;
  const random = createRandom(seed);
  const initialStations = new Map(city.bikes.map((bike) => [bike, random.pick(city.stations)]));
  const described = describeCity(city, initialStations);
  for (const command of described.stations) if (observed?.stations.has(command.subjectId) !== true) send(command);
  // The stations must exist before the bikes that refer to them.
  await flush();
  for (const command of described.bikes) if (observed?.bikes.has(command.subjectId) !== true) send(command);
  // A ride of the history goes on, unless it has ended in the service meanwhile.
  const observedRides = new Set(observed?.rides.map(({ id }) => id));
  const going = underWay.filter(({ id }) => observedRides.has(id));
  endLeftoverRides(options, observed, new Set(going.map(({ id }) => id)));
  await flush();
  beginLife(options, observed, going, initialStations);
}

/**
 * Tells the simulated life which stations are offline, which rides go on, and where the other bikes are.
 * @param initialStations the station of each bike, for the bikes that the service did not have
 */
function beginLife(
  { city, life, time, clock }: BootstrapOptions,
  observed: ObservedCity | undefined,
  going: readonly RideUnderWay[],
  initialStations: ReadonlyMap<CityBike, CityStation>,
): void {
  const stationById = new Map(city.stations.map((station) => [station.id, station]));
  // `observed` read the bikes before the rides, so a bike that it shows as available may be on a ride.
  const taken = new Set(observed?.rides.map((ride) => ride.bike_id));
  for (const station of city.stations) {
    if (observed?.stations.get(station.id)?.status === "offline") life.restoreStation(station, time);
  }
  for (const ride of going) life.goOn(ride, time + Math.max(0, ride.endedAt - clock()));
  const ridden = new Set(going.map(({ bike }) => bike.id));
  for (const [{ id }, initialStation] of initialStations) {
    if (ridden.has(id)) continue;
    const bike = observed?.bikes.get(id);
    const station = bike === undefined ? initialStation : stationById.get(bike.station_id ?? "");
    const isReady = bike === undefined || (RIDABLE_STATES.has(bike.vehicle_state) && !taken.has(id));
    if (isReady && station !== undefined) life.putBike(id, station);
    else life.returnBike(id, time);
  }
}

/** Ends the rides that an interrupted run left, except those in `going`. Their bikes are returned to a station later. */
function endLeftoverRides(
  { city, send }: BootstrapOptions,
  observed: ObservedCity | undefined,
  going: ReadonlySet<string>,
): void {
  const ours = new Set(city.bikes.map(({ id }) => id));
  for (const ride of observed?.rides ?? []) {
    if (ours.has(ride.bike_id) && !going.has(ride.id)) {
      send({ path: "rides/end", subjectId: ride.bike_id, item: { id: ride.id, end_reason: "timeout" } });
    }
  }
}
