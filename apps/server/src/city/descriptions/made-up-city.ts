import type { FactChanges, FactKind } from "@bikeshare/contract";
import { type City, EBIKE_RANGE_METERS } from "@bikeshare/simulator";
import type { ActorContext } from "../../command-context.ts";
import { describe, describedAll, describedSystem, describedTypesEver } from "./service.ts";

/*
 * Describes the made-up city for GBFS: all of it for the demo, so that trip planners can be tested against it; its vehicle
 * types and regions for sandboxes; its vehicle types for `bikeshare simulate`. The system itself and its geofencing zones
 * exist once, so they have the empty id. `own` are the facts that the operator has set.
 */

/** The time zone of the land nearest to the made-up city, which lies in the North Sea. */
export const DEMO_TIME_ZONE = "Europe/Amsterdam";

const system: FactChanges<"system"> = {
  published_id: "demo-city",
  name: "Demo city",
  timezone: DEMO_TIME_ZONE,
  language: "en",
  operator: "Demo Bikes",
  url: "https://demo-city.example",
  feed_contact_email: "feeds@demo-city.example",
  licence: "CC0-1.0",
  rental_apps: {
    ios: { store_uri: "https://apps.demo-city.example/ios", discovery_uri: "demo-city://open" },
    android: { store_uri: "https://apps.demo-city.example/android", discovery_uri: "demo-city://open" },
  },
  station_links: {
    web: "https://demo-city.example/stations/{station_id}",
    ios: "demo-city://stations/{station_id}",
    android: "demo-city://stations/{station_id}",
  },
  vehicle_links: {
    web: "https://demo-city.example/vehicles/{vehicle_id}",
    ios: "demo-city://vehicles/{vehicle_id}",
    android: "demo-city://vehicles/{vehicle_id}",
  },
};

/** By id. */
const pricingPlans: Readonly<Record<string, FactChanges<"pricing_plan">>> = {
  ride: {
    name: "Single ride",
    currency: "EUR",
    price: 1,
    is_taxable: false,
    description: "1.00 € to unlock, the first 30 minutes are free, then 0.10 € a minute",
    per_min_pricing: [{ start: 30, rate: 0.1, interval: 1 }],
  },
  "e-ride": {
    name: "Single e-bike ride",
    currency: "EUR",
    price: 1,
    is_taxable: false,
    description: "1.00 € to unlock, then 0.20 € a minute",
    per_min_pricing: [{ start: 0, rate: 0.2, interval: 1 }],
  },
};

/** By id. */
const vehicleTypes: Readonly<Record<string, FactChanges<"vehicle_type">>> = {
  bike: {
    name: "Bike",
    form_factor: "bicycle",
    propulsion_type: "human",
    wheel_count: 2,
    return_constraint: "hybrid",
    default_pricing_plan_id: "ride",
    default_reserve_time: 15,
  },
  ebike: {
    name: "E-bike",
    form_factor: "bicycle",
    propulsion_type: "electric_assist",
    wheel_count: 2,
    max_range_meters: EBIKE_RANGE_METERS,
    return_constraint: "hybrid",
    default_pricing_plan_id: "e-ride",
    default_reserve_time: 15,
  },
};

/** Describes the made-up city, except for what its operator has described already. */
export async function describeDemo(context: ActorContext, systemId: string, city: City): Promise<void> {
  const own = (await describedSystem(context.db, systemId))?.own ?? {};
  const missing = Object.entries(system).filter(([name]) => !Object.hasOwn(own, name));
  if (missing.length > 0) await describe(context, systemId, "system", "", Object.fromEntries(missing));
  await describeDemoTypes(context, systemId);
  await describeRegions(context, systemId, city);
  await describeNew(context, systemId, "geofencing_zones", { "": zonesOf(city) });
}

/** Names the regions of the made-up city. */
export async function describeRegions(context: ActorContext, systemId: string, city: City): Promise<void> {
  for (const id of new Set(city.stations.map(({ regionId }) => regionId))) {
    await describeNew(context, systemId, "region", { [id]: { name: id.charAt(0).toUpperCase() + id.slice(1) } });
  }
}

/** Describes the vehicle types of the made-up city and their prices, unless the types are described already. */
export async function describeDemoTypes(context: ActorContext, systemId: string): Promise<void> {
  const types = await describedTypesEver(context.db, systemId);
  // A type that only bikes name is in `types`, too, but without a propulsion type.
  const isDescribed = (id: string) =>
    types.some((type) => type.id === id && type.published.propulsion_type !== undefined);
  if (Object.keys(vehicleTypes).every(isDescribed)) return;
  await describeNew(context, systemId, "pricing_plan", pricingPlans);
  await describeNew(context, systemId, "vehicle_type", vehicleTypes);
}

/** Describes things of a kind, except those of which the operator has described something. @param things by id */
async function describeNew<Kind extends FactKind>(
  context: ActorContext,
  systemId: string,
  kind: Kind,
  things: Readonly<Record<string, FactChanges<Kind>>>,
): Promise<void> {
  const described = await describedAll(context.db, systemId, kind);
  for (const [id, changes] of Object.entries(things)) {
    const held = described.find((each) => each.id === id);
    if (held === undefined || Object.keys(held.own).length === 0) await describe(context, systemId, kind, id, changes);
  }
}

/** Returns one zone around the stations of the centre, in which rides must end at a station. */
function zonesOf({ stations }: City): FactChanges<"geofencing_zones"> {
  const central = stations.filter(({ regionId }) => regionId === "centre");
  const lons = central.map(({ lon }) => lon);
  const lats = central.map(({ lat }) => lat);
  const [west, east] = [Math.min(...lons), Math.max(...lons)];
  const [south, north] = [Math.min(...lats), Math.max(...lats)];
  const ring = [
    [west, south],
    [east, south],
    [east, north],
    [west, north],
    [west, south],
  ];
  const rule = { ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true };
  const rules = [{ ...rule, maximum_speed_kph: 15, station_parking: true }];
  return {
    features: [
      {
        type: "Feature",
        geometry: { type: "MultiPolygon", coordinates: [[ring]] },
        properties: { name: [{ text: "Centre: return at stations", language: "en" }], rules },
      },
    ],
    global_rules: [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }],
  };
}
