import { createApi } from "./core/api.ts";
import type {
  Alert,
  AlertListQuery,
  Bike,
  BikeListQuery,
  Export,
  ExportListQuery,
  Region,
  RegionListQuery,
  Ride,
  RideListQuery,
  VehicleType,
  VehicleTypeListQuery,
} from "./json-types.generated.ts";
import type { ClientOptions } from "./options.ts";
import {
  createCurrentKey,
  createDeliveries,
  createEvents,
  createFlows,
  createFollowedResource,
  createHealthChecks,
  createListResource,
  createReservations,
  createResource,
  createStations,
  createWholeSystem,
  type CurrentKey,
  type Deliveries,
  type FollowedResource,
  type Events,
  type Flows,
  type HealthChecks,
  type ListResource,
  type Reservations,
  type Resource,
  type Stations,
  type WholeSystem,
} from "./resources.ts";
import { routes } from "./routes.generated.ts";

/**
 * A client of the Bike-Sharing Data Service. Make one for each key and keep it: its calls share the key's rate limit.
 *
 * @example
 * const client = new BikeShare({ baseUrl: "https://bikes.example", apiKey });
 * for await (const station of client.stations.list()) console.log(station.name, station.num_bikes_available);
 */
export class BikeShare {
  // The properties are only declared. Class fields would repeat each name in the bundle; the constructor sets them.
  /**
   * Stations, sorted by id, with their past states, usual days and forecasts. Scope `stations:read`; past states, usual days
   * and forecasts need `history:read`.
   */
  declare readonly stations: Stations;
  /** The vehicle types that stations, bikes and rides refer to by id. Scope `stations:read`. */
  declare readonly vehicleTypes: ListResource<VehicleType, VehicleTypeListQuery>;
  /** The regions that stations refer to by id. Scope `stations:read`. */
  declare readonly regions: ListResource<Region, RegionListQuery>;
  /** Open alerts to riders: closures, moves, disturbances. `get` finds ended ones too. Scope `stations:read`. */
  declare readonly alerts: Resource<Alert, AlertListQuery>;
  /** Rides, newest first. Scope `rides:read`. */
  declare readonly rides: FollowedResource<Ride, RideListQuery>;
  /** Bikes, and other vehicles shared the same way, sorted by id. Scope `bikes:read`. */
  declare readonly bikes: FollowedResource<Bike, BikeListQuery>;
  /** Bikes held for your riders, newest first. Scopes `reservations:read` and `reservations:write`. */
  declare readonly reservations: Reservations;
  /** Events of the last 30 days, oldest first, to catch up after your program was down. Scope `events:read`. */
  declare readonly events: Events;
  /** Deliveries to your webhooks, newest first, and resends. Scopes `deliveries:read` and `deliveries:write`. */
  declare readonly deliveries: Deliveries;
  /** Rides between pairs of stations. Scope `history:read`. */
  declare readonly flows: Flows;
  /** Fleet, rides and stations of the whole system over time. Scope `history:read`. */
  declare readonly system: WholeSystem;
  /** Finished files of open data, newest first; `downloadExport` fetches one. Scope `exports:read`. */
  declare readonly exports: Resource<Export, ExportListQuery>;
  /** Your key: its scopes, limits and expiry. */
  declare readonly me: CurrentKey;
  /** Tells whether the service works. Needs no key. */
  declare readonly health: HealthChecks;

  /** @throws UsageError that names the wrong option */
  constructor(options: ClientOptions) {
    const api = createApi(options);
    this.stations = createStations(api);
    this.vehicleTypes = createListResource(api, routes.vehicleTypes);
    this.regions = createListResource(api, routes.regions);
    this.alerts = createResource(api, routes.alerts);
    this.rides = createFollowedResource(api, routes.rides);
    this.bikes = createFollowedResource(api, routes.bikes);
    this.reservations = createReservations(api);
    this.events = createEvents(api);
    this.deliveries = createDeliveries(api);
    this.flows = createFlows(api);
    this.system = createWholeSystem(api);
    this.exports = createResource(api, routes.exports);
    this.me = createCurrentKey(api);
    this.health = createHealthChecks(api);
  }
}
