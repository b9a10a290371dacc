import type { Bike } from "../wire.generated.ts";
import { viewOf } from "./bike.ts";
import type { BikeState, City } from "./city.ts";
import { instant } from "./clock.ts";
import { recountStations, type Shown } from "./counters.ts";

/** A bike as it is described. What is left out is filled in, or stays as it was. */
export type BikeFields = Partial<Bike> & Pick<Bike, "id">;

/** Makes a bike, or changes what is known of it. */
export function putBike(city: City, fields: BikeFields): void {
  const held = city.bikes.get(fields.id);
  const reported = {
    ...(held?.reported ?? newBike(fields.id)),
    // A bike that is put at a station stands where the station is, unless something else is said.
    ...(fields.station_id === undefined ? {} : placeOf(city, fields.station_id)),
    updated_at: instant(city.now()),
    ...fields,
  };
  writeBike(city, { rideId: null, reservationId: null, ...held, reported });
}

/** Changes who rides or holds a bike, or where it stands. */
export function changeBike(
  city: City,
  bike: BikeState,
  change: Partial<Pick<BikeState, "rideId" | "reservationId">> & { readonly place?: Place },
): void {
  const { place, ...holder } = change;
  const reported = { ...bike.reported, ...place, updated_at: instant(city.now()) };
  writeBike(city, { ...bike, ...holder, reported });
}

/** Where a bike stands. */
export type Place = Pick<Bike, "station_id" | "lat" | "lon">;

/** The place that a station is; a station that nobody knows has none. */
export function placeOf(city: City, stationId: string | null): Place {
  const station = stationId === null ? undefined : city.stations.get(stationId)?.shown;
  return { station_id: stationId, lat: station?.lat ?? null, lon: station?.lon ?? null };
}

function writeBike(city: City, bike: BikeState): void {
  const { id } = bike.reported;
  const before: Shown | undefined = city.bikes.has(id) ? viewAt(city, id) : undefined;
  city.bikes.set(id, bike);
  recountStations(city, before, viewOf(bike));
}

function viewAt(city: City, id: string): Bike | undefined {
  const bike = city.bikes.get(id);
  return bike && viewOf(bike);
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
