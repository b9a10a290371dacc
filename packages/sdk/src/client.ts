import { createApi } from "./core/api.ts";
import type { ClientOptions } from "./options.ts";
import { Bikes } from "./resources/bikes.ts";
import { Descriptions } from "./resources/descriptions.ts";
import { Events } from "./resources/events.ts";
import { ServiceHealth } from "./resources/health.ts";
import { MyKey } from "./resources/me.ts";
import { Reservations } from "./resources/reservations.ts";
import { Rides } from "./resources/rides.ts";
import { Stations } from "./resources/stations.ts";
import { routes } from "./routes.generated.ts";
import type { Region, RegionListQuery, VehicleType, VehicleTypeListQuery } from "./wire.generated.ts";

/**
 * A client of the Bike-Sharing Data Service. Make one for each key and keep it: its calls share the key's limit.
 *
 * @example
 * const client = new BikeShare({ baseUrl: "https://bikes.example", apiKey });
 * for await (const station of client.stations.list()) console.log(station.name, station.num_bikes_available);
 */
export class BikeShare {
  // Only declared, as the constructor sets them: a field costs every page its name once more.
  /** Where bikes are rented and returned. Scope `stations:read`. */
  declare readonly stations: Stations;
  /** What vehicle type ids on stations, bikes and rides mean. Scope `stations:read`. */
  declare readonly vehicleTypes: Descriptions<VehicleType, VehicleTypeListQuery>;
  /** What region ids on stations mean. Scope `stations:read`. */
  declare readonly regions: Descriptions<Region, RegionListQuery>;
  /** Ways of bikes from start to end. Scope `rides:read`. */
  declare readonly rides: Rides;
  /** Bikes, and other vehicles shared the same way. Scope `bikes:read`. */
  declare readonly bikes: Bikes;
  /** Bikes held for your riders. Scopes `reservations:read` and `reservations:write`. */
  declare readonly reservations: Reservations;
  /** What happened in the last 30 days: to catch up after you were down. Scope `events:read`. */
  declare readonly events: Events;
  /** What the service knows of your key. */
  declare readonly me: MyKey;
  /** Whether the service is well. Needs no key. */
  declare readonly health: ServiceHealth;

  /** @throws UsageError that names the wrong option */
  constructor(options: ClientOptions) {
    const api = createApi(options);
    this.stations = new Stations(api);
    this.vehicleTypes = new Descriptions(api, routes.vehicleTypes.list);
    this.regions = new Descriptions(api, routes.regions.list);
    this.rides = new Rides(api);
    this.bikes = new Bikes(api);
    this.reservations = new Reservations(api);
    this.events = new Events(api);
    this.me = new MyKey(api);
    this.health = new ServiceHealth(api);
  }
}
