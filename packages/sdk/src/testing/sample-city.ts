import type { Region } from "../json-types.generated.ts";
import type { BikeFields, StationFields, VehicleTypeFields } from "./operator.ts";
import type { RideFields } from "./rides.ts";

/** The size of a sample city. */
export interface SampleSize {
  /** Default 5. */
  readonly stations?: number;
  /** Default 20. The bikes are distributed over the stations in turn. */
  readonly bikes?: number;
  /**
   * Default 120, which is more than two pages. The rides are completed, and start a minute after each other, or more with
   * fewer than 10 bikes.
   */
  readonly rides?: number;
}

/** A sample city, as options of a fake. */
export interface SampleCity {
  readonly stations: readonly StationFields[];
  readonly bikes: readonly BikeFields[];
  readonly rides: readonly RideFields[];
  readonly vehicleTypes: readonly VehicleTypeFields[];
  readonly regions: readonly Region[];
}

/**
 * Returns a city for tests, always the same: `createFakeBikeShare(sampleCity())`. Its ids are `station_001`, `bike_001`,
 * `ride_00001` and so on.
 */
export function sampleCity({ stations = 5, bikes = 20, rides = 120 }: SampleSize = {}): SampleCity {
  const stationId = (n: number) => `station_${String((n % stations) + 1).padStart(3, "0")}`;
  const bikeId = (n: number) => `bike_${String((n % bikes) + 1).padStart(3, "0")}`;
  // Rides last ten minutes. The time between two starts is chosen so that rides of one bike do not overlap.
  const minutesApart = Math.max(1, Math.ceil(10 / bikes));
  return {
    stations: times(stations, (n) => ({
      id: stationId(n),
      name: `Station ${n + 1}`,
      lat: 47.37 + n / 500,
      lon: 8.54 + n / 500,
      capacity: 20,
      region_id: n % 2 === 0 ? "centre" : "north",
    })),
    bikes: times(bikes, (n) => ({
      id: bikeId(n),
      number: String(n + 1),
      station_id: stationId(n),
      vehicle_type_id: n % 4 === 3 ? "electric" : "classic",
      current_range_meters: n % 4 === 3 ? 20_000 : null,
    })),
    rides: times(rides, (n) => ({
      id: `ride_${String(n + 1).padStart(5, "0")}`,
      bike_id: bikeId(n),
      start_station_id: stationId(n),
      end_station_id: stationId(n + 1),
      started_at: new Date(FIRST_RIDE + n * minutesApart * 60_000).toISOString(),
      distance_meters: 1_500 + n,
      rider_category: n % 3 === 0 ? "casual" : "member",
    })),
    vehicleTypes: [
      { id: "classic", name: "Classic", form_factor: "bicycle", propulsion_type: "human" },
      {
        id: "electric",
        name: "Electric",
        form_factor: "bicycle",
        propulsion_type: "electric_assist",
        max_range_meters: 60_000,
      },
    ],
    regions: [
      { id: "centre", name: "Centre" },
      { id: "north", name: "North" },
    ],
  };
}

const FIRST_RIDE = Date.parse("2026-03-14T08:00:00.000Z");

function times<Item>(count: number, make: (n: number) => Item): Item[] {
  return Array.from({ length: count }, (_, n) => make(n));
}
