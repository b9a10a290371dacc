import type { FeedFiles } from "../../src/feeds/gbfs-check/feed-set.ts";

/** The time of the feed, in milliseconds since 1970. */
export const FEED_TIME = Date.parse("2026-08-01T12:00:00Z");

// oxlint-disable-next-line typescript/no-explicit-any -- tests spoil documents in ways that no type has
export type Documents = Record<string, any>;

const en = (text: string) => [{ text, language: "en" }];
const links = (id: string) => ({ android: `https://city.example/a/${id}`, ios: `https://city.example/i/${id}` });
const app = (platform: string) => ({ store_uri: `https://store.example/${platform}`, discovery_uri: "citybikes://" });

/** Returns the documents of a feed without errors, of which every journey planner can use everything. */
export function cleanDocuments(version = "3.0"): Documents {
  const document = (data: object) => ({ last_updated: "2026-08-01T11:59:50Z", ttl: 30, version, data });
  const names = [
    ...[
      "gbfs_versions",
      "system_information",
      "vehicle_types",
      "station_information",
      "station_status",
      "vehicle_status",
    ],
    ...["system_regions", "system_pricing_plans", "system_alerts", "geofencing_zones"],
  ];
  const stations = Array.from({ length: 12 }, (_, index) => index);
  return {
    gbfs: document({ feeds: names.map((name) => ({ name, url: `https://city.example/3.0/${name}.json` })) }),
    gbfs_versions: document({
      versions: ["2.3", "3.0"].map((each) => ({ version: each, url: `https://city.example/${each}/gbfs.json` })),
    }),
    system_information: document({
      ...{ system_id: "citybikes_example", languages: ["en"], name: en("City Bikes"), opening_hours: "24/7" },
      ...{ feed_contact_email: "feeds@city.example", timezone: "Europe/Oslo", license_id: "CC-BY-4.0" },
      rental_apps: { android: app("android"), ios: app("ios") },
    }),
    vehicle_types: document({
      vehicle_types: [
        {
          vehicle_type_id: "bike",
          form_factor: "bicycle",
          propulsion_type: "human",
          name: en("Bike"),
          ...backToStations,
        },
        {
          ...{
            vehicle_type_id: "ebike",
            form_factor: "bicycle",
            propulsion_type: "electric_assist",
            name: en("E-bike"),
          },
          ...{ max_range_meters: 60_000, ...backToStations },
        },
      ],
    }),
    station_information: document({
      stations: stations.map((index) => ({
        ...{ station_id: `s${index}`, name: en(`Station ${index}`), capacity: 12, region_id: "west" },
        ...{ lat: 59.91234 + index / 1000, lon: 10.71234 + index / 1000, rental_uris: links(`s${index}`) },
      })),
    }),
    station_status: document({
      stations: stations.map((index) => ({
        ...{ station_id: `s${index}`, num_vehicles_available: 3, num_docks_available: 9 },
        vehicle_types_available: [
          { vehicle_type_id: "bike", count: 2 },
          { vehicle_type_id: "ebike", count: 1 },
        ],
        ...{ is_installed: true, is_renting: true, is_returning: true },
        last_reported: new Date(FEED_TIME - index * 60_000).toISOString(),
      })),
    }),
    vehicle_status: document({
      vehicles: [
        { vehicle_id: "v1", lat: 59.91321, lon: 10.71321, ...free, vehicle_type_id: "bike", rental_uris: links("v1") },
        {
          ...{ vehicle_id: "v2", lat: 59.91421, lon: 10.71421, ...free, vehicle_type_id: "ebike" },
          ...{ current_range_meters: 20_000, rental_uris: links("v2") },
        },
      ],
    }),
    system_regions: document({ regions: [{ region_id: "west", name: en("West") }] }),
    system_pricing_plans: document({
      plans: [
        { plan_id: "ride", name: en("Ride"), currency: "NOK", price: 10, is_taxable: false, description: en("A ride") },
      ],
    }),
    system_alerts: document({
      alerts: [
        {
          ...{ alert_id: "a1", type: "other", summary: en("Works"), station_ids: ["s1"] },
          times: [{ start: "2026-07-01T00:00:00Z", end: "2026-09-01T00:00:00Z" }],
        },
      ],
    }),
    geofencing_zones: document({
      geofencing_zones: { type: "FeatureCollection", features: [zone([rule])] },
      global_rules: [rule],
    }),
  };
}

const backToStations = { default_pricing_plan_id: "ride", return_constraint: "any_station" };
const free = { is_reserved: false, is_disabled: false };
const rule = { ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true };

function zone(rules: readonly object[]) {
  const ring = [
    [10, 59],
    [11, 59],
    [11, 60],
    [10, 60],
    [10, 59],
  ];
  return {
    type: "Feature",
    geometry: { type: "MultiPolygon", coordinates: [[ring]] },
    properties: { name: en("Park"), rules },
  };
}

/** Returns documents as files that were read at an address. */
export function filesOf(documents: Documents, more: Partial<FeedFiles> = {}): FeedFiles {
  const files = Object.entries(documents).map(([name, document]) => ({
    ...{ name, language: null, address: `https://city.example/3.0/${name}.json` },
    bytes: Buffer.from(JSON.stringify(document)),
  }));
  return { kind: "address", location: "https://city.example/3.0/gbfs.json", files, ...more };
}
