import type { SeenCity } from "./city-reader.ts";
import type { City, CityBike, CityStation } from "./city.ts";
import type { Command } from "./commands.ts";
import type { CityLife } from "./life.ts";
import { MADE_UP_RANGE_METERS } from "./made-up-types.ts";
import { createRandom } from "./random.ts";

export interface Beginning {
  readonly city: City;
  readonly seed: number;
  readonly life: CityLife;
  /** The moment of simulated time at which the city begins to live. */
  readonly moment: number;
  readonly tell: (command: Command) => void;
  /** Resolves when everything told is acknowledged. */
  readonly flush: () => Promise<void>;
}

/** States of bikes that a rider could take soon. */
const READY: ReadonlySet<string> = new Set(["available", "reserved"]);

/** The stations and bikes of a made-up city, as its operator describes them at first. */
export function describeCity(
  city: City,
  standing: ReadonlyMap<CityBike, CityStation>,
): { readonly stations: Command[]; readonly bikes: Command[] } {
  return {
    stations: city.stations.map((station) => ({
      path: "stations",
      about: station.id,
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
      about: bike.id,
      item: {
        id: bike.id,
        number: bike.id.slice(-4),
        vehicle_type_id: bike.vehicleTypeId,
        vehicle_state: "available",
        station_id: station.id,
        current_range_meters: bike.isElectric ? MADE_UP_RANGE_METERS : null,
      },
    })),
  };
}

/**
 * Makes what is missing of a city, and goes on with what is there as it stands. Without a look at it, all is made.
 * Resolves when the service has acknowledged the city.
 */
export async function settleIn(beginning: Beginning, seen: SeenCity | undefined): Promise<void> {
  const { city, seed, life, moment, tell, flush } = beginning;
  const random = createRandom(seed);
  const places = new Map(city.bikes.map((bike) => [bike, random.pick(city.stations)]));
  const described = describeCity(city, places);
  for (const command of described.stations) if (seen?.stations.has(command.about) !== true) tell(command);
  // Bikes are put at stations, which must be there.
  await flush();
  for (const command of described.bikes) if (seen?.bikes.has(command.about) !== true) tell(command);
  endRidesLeft(beginning, seen);
  await flush();
  const byId = new Map(city.stations.map((station) => [station.id, station]));
  // A bike may have been taken after it was looked at, and before the rides were.
  const taken = new Set(seen?.rides.map((ride) => ride.bike_id));
  for (const station of city.stations) {
    if (seen?.stations.get(station.id)?.status === "offline") life.mend(station, moment);
  }
  for (const [{ id }, place] of places) {
    const bike = seen?.bikes.get(id);
    const station = bike === undefined ? place : byId.get(bike.station_id ?? "");
    const isReady = bike === undefined || (READY.has(bike.vehicle_state) && !taken.has(id));
    if (isReady && station !== undefined) life.stands(id, station);
    else life.bring(id, moment);
  }
}

/** Ends the rides that a run left which did not end well. Their bikes are brought to a station later. */
function endRidesLeft({ city, tell }: Beginning, seen: SeenCity | undefined): void {
  const ours = new Set(city.bikes.map(({ id }) => id));
  for (const ride of seen?.rides ?? []) {
    if (ours.has(ride.bike_id)) {
      tell({ path: "rides/end", about: ride.bike_id, item: { id: ride.id, end_reason: "timeout" } });
    }
  }
}
