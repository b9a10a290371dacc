// Small feeds for tests, with made-up content. They have the structures of the fixtures in the tests of journey planners.

/** A feed, with the fields that the service cannot publish again. */
export interface PlannersFeed {
  readonly version: "2.3" | "3.0";
  readonly documents: Readonly<Record<string, object>>;
  /** The fields that are lost, in the order of the comparison. */
  readonly lost: readonly string[];
}

const square = (lon: number, lat: number) => [
  [lon, lat],
  [lon + 0.1, lat],
  [lon + 0.1, lat + 0.1],
  [lon, lat + 0.1],
  [lon, lat],
];
const zone = (geometry: object | null, properties: object) => ({ type: "Feature", geometry, properties });
const area = (...corners: readonly (readonly [number, number])[]) => ({
  type: "MultiPolygon",
  coordinates: corners.map(([lon, lat]) => [square(lon, lat)]),
});
const collection = (...features: readonly object[]) => ({
  geofencing_zones: { type: "FeatureCollection", features },
});

function documentsOf(version: string, feeds: Readonly<Record<string, object>>): Record<string, object> {
  const last_updated = version.startsWith("3") ? "2026-01-01T11:00:00+01:00" : 1_767_261_600;
  const entries = Object.entries(feeds).map(
    ([name, data]) => [name, { last_updated, ttl: 60, version, data }] as const,
  );
  return Object.fromEntries(entries);
}

const en = (text: string) => [{ text, language: "en" }];
const status = { is_installed: true, is_renting: true, is_returning: true, last_reported: 1_767_261_500 };
const apps = (id: string) => ({
  android: { store_uri: `https://store.example/${id}`, discovery_uri: `${id}://` },
  ios: { store_uri: `https://apps.example/${id}`, discovery_uri: `${id}://` },
});

/**
 * As in the tests of MOTIS: a docked vehicle type that may also be parked in the street, ids with colons, an empty list of
 * zones.
 */
const motis: PlannersFeed = {
  version: "2.3",
  documents: documentsOf("2.3", {
    system_information: {
      ...{ system_id: "hirebike", language: "de", name: "Mietrad", short_name: "MR", operator: "Rad GmbH" },
      ...{ url: "https://rad.example", feed_contact_email: "feeds@rad.example", timezone: "Europe/Berlin" },
      rental_apps: apps("rad"),
    },
    vehicle_types: {
      vehicle_types: [
        {
          ...{ vehicle_type_id: "R:Type:1", form_factor: "bicycle", propulsion_type: "human" },
          ...{ name: "Rad", return_constraint: "hybrid" },
        },
      ],
    },
    station_information: {
      stations: [{ station_id: "R:Station:1", name: "Hauptbahnhof", lat: 49.87165, lon: 8.63108 }],
    },
    station_status: {
      stations: [
        {
          ...{ station_id: "R:Station:1", num_bikes_available: 4, ...status },
          vehicle_types_available: [{ vehicle_type_id: "R:Type:1", count: 4 }],
        },
      ],
    },
    free_bike_status: {
      bikes: [
        {
          ...{ bike_id: "R:Vehicle:1", lat: 49.87531, lon: 8.62767, is_reserved: false, is_disabled: false },
          ...{
            vehicle_type_id: "R:Type:1",
            rental_uris: { android: "https://rad.example/1", ios: "https://rad.example/1" },
          },
        },
      ],
    },
    geofencing_zones: collection(),
  }),
  // The service publishes no file when there are neither zones nor rules for the area outside them.
  lost: ["geofencing_zones data.geofencing_zones.type: 0 of 1"],
};

/**
 * As in the tests of lamassu: every optional part of GBFS 3.0, with a car, equipment, several docks for one type, and a zone
 * in two parts.
 */
const lamassu: PlannersFeed = {
  version: "3.0",
  documents: documentsOf("3.0", {
    system_information: {
      ...{ system_id: "example", languages: ["en"], name: en("Example"), short_name: en("Ex"), operator: en("Inc") },
      ...{ opening_hours: "Apr 1-Nov 3 00:00-24:00", start_date: "2010-06-10", url: "https://example.example" },
      ...{ phone_number: "+18005551234", email: "help@example.example", feed_contact_email: "feeds@example.example" },
      ...{ timezone: "America/Chicago", license_url: "https://example.example/licence", rental_apps: apps("example") },
      ...{ terms_url: en("https://example.example/terms"), terms_last_updated: "2021-06-21" },
      ...{ attribution_organization_name: en("Another"), attribution_url: "https://another.example" },
    },
    vehicle_types: {
      vehicle_types: [
        {
          ...{ vehicle_type_id: "bike", form_factor: "bicycle", propulsion_type: "human", name: en("Bike") },
          ...{ wheel_count: 2, default_reserve_time: 30, return_constraint: "any_station" },
          ...{ default_pricing_plan_id: "plan-1", pricing_plan_ids: ["plan-1", "plan-2"] },
        },
        {
          ...{ vehicle_type_id: "car", form_factor: "car", propulsion_type: "combustion_diesel", name: en("Car") },
          ...{ rider_capacity: 4, cargo_volume_capacity: 200, cargo_load_capacity: 425, wheel_count: 4 },
          ...{ eco_labels: [{ country_code: "DE", eco_sticker: "euro_6" }], default_reserve_time: 0 },
          ...{ vehicle_accessories: ["doors_3", "air_conditioning"], g_CO2_km: 120, max_range_meters: 523_992 },
          ...{ return_constraint: "roundtrip_station", default_pricing_plan_id: "plan-2" },
        },
      ],
    },
    system_pricing_plans: {
      plans: [
        {
          ...{ plan_id: "plan-1", name: en("One-Way"), currency: "USD", price: 2, is_taxable: false },
          ...{ description: en("Includes 10 km, then $1 a km"), surge_pricing: false },
          per_km_pricing: [
            { start: 10, rate: 1, interval: 1, end: 25 },
            { start: 25, rate: 0.5, interval: 1 },
          ],
        },
        {
          ...{ plan_id: "plan-2", name: en("Long"), currency: "CAD", price: 3, is_taxable: true },
          ...{ description: en("$3 to unlock"), per_min_pricing: [{ start: 0, rate: 1.5, interval: 30 }] },
        },
      ],
    },
    station_information: {
      stations: [
        {
          ...{ station_id: "garage", name: en("Garage"), lat: 45.51644, lon: -122.65577, capacity: 16 },
          ...{ station_opening_hours: "Su-Th 05:00-22:00; Fr-Sa 05:00-01:00", parking_type: "underground_parking" },
          ...{ parking_hoop: false, contact_phone: "+33109874321", is_charging_station: true },
          ...{ is_virtual_station: true, station_area: area([-122.65, 45.5]) },
          vehicle_types_capacity: [{ vehicle_type_ids: ["bike"], count: 7 }],
          vehicle_docks_capacity: [{ vehicle_type_ids: ["bike", "car"], count: 10 }],
        },
      ],
    },
    station_status: {
      stations: [
        {
          ...{ station_id: "garage", ...status, last_reported: "2026-01-01T10:59:00+01:00", num_docks_available: 3 },
          ...{ num_docks_disabled: 1, num_vehicles_available: 1, num_vehicles_disabled: 2 },
          vehicle_docks_available: [{ vehicle_type_ids: ["bike", "car"], count: 2 }],
          vehicle_types_available: [
            { vehicle_type_id: "bike", count: 1 },
            { vehicle_type_id: "car", count: 0 },
          ],
        },
      ],
    },
    vehicle_status: {
      vehicles: [
        {
          ...{ vehicle_id: "v1", last_reported: "2026-01-01T10:59:00+01:00", lat: 45.6, lon: -122.6 },
          ...{ is_reserved: false, is_disabled: false, vehicle_type_id: "car", current_range_meters: 400_000 },
          ...{ available_until: "2026-05-17T15:00:00Z", home_station_id: "garage", pricing_plan_id: "plan-2" },
          ...{ vehicle_equipment: ["child_seat_a", "winter_tires"], current_fuel_percent: 0.7 },
        },
        { vehicle_id: "v2", is_reserved: false, is_disabled: false, vehicle_type_id: "bike", station_id: "garage" },
      ],
    },
    system_regions: { regions: [{ region_id: "north", name: en("North") }] },
    system_alerts: {
      alerts: [
        {
          ...{
            alert_id: "21",
            type: "station_closure",
            station_ids: ["garage"],
            url: en("https://example.example/21"),
          },
          ...{ summary: en("Closed"), description: en("For works"), last_updated: "2026-01-01T10:00:00+01:00" },
          times: [{ start: "2026-01-01T09:00:00+01:00", end: "2036-01-01T09:00:00+01:00" }],
        },
      ],
    },
    geofencing_zones: {
      ...collection(
        zone(area([-122.65, 45.5], [-122.4, 45.4]), {
          ...{ name: en("NE 24th"), start: "2026-01-01T18:00:00+02:00", end: "2036-07-05T02:01:00+02:00" },
          rules: [
            {
              ...{ vehicle_type_ids: ["car"], ride_start_allowed: false, ride_end_allowed: false },
              ...{ ride_through_allowed: true, maximum_speed_kph: 10, station_parking: true },
            },
          ],
        }),
      ),
      global_rules: [{ ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: true }],
    },
  }),
  lost: [],
};

/** As in the tests of OpenTripPlanner: a city with docks, with records without an id, a name or a position. */
const docked: PlannersFeed = {
  version: "2.3",
  documents: documentsOf("2.3", {
    system_information: { system_id: "dock", language: "fi", name: "Pyörät", timezone: "Europe/Helsinki" },
    station_information: {
      stations: [
        { station_id: "001", name: "Kaivopuisto", lat: 60.15554, lon: 24.95025, address: "1, Street", capacity: 30 },
        { station_id: null, name: "No id", lat: 60.1, lon: 24.9 },
        { station_id: "009", name: "", lat: 60.1, lon: 24.9 },
        { station_id: "010", name: "No position", lat: null, lon: null },
      ],
    },
    station_status: {
      stations: ["001", "009", "010"].map((station_id) => ({
        ...{
          station_id,
          num_bikes_available: 3,
          num_docks_available: 27,
          ...status,
          is_installed: 1,
          is_renting: "true",
        },
      })),
    },
  }),
  lost: [
    "station_information data.stations[].station_id: 2 of 4",
    "station_information data.stations[].name: 2 of 4",
    "station_information data.stations[].lat: 2 of 4",
    "station_information data.stations[].lon: 2 of 4",
    "station_status data.stations[].station_id: 2 of 3",
    "station_status data.stations[].num_bikes_available: 2 of 3",
    "station_status data.stations[].num_docks_available: 2 of 3",
    "station_status data.stations[].is_installed: 2 of 3",
    "station_status data.stations[].is_renting: 2 of 3",
    "station_status data.stations[].is_returning: 2 of 3",
    "station_status data.stations[].last_reported: 2 of 3",
  ],
};

/** As in the tests of OpenTripPlanner: a free-floating city, in which some zones have no shape. */
const floating: PlannersFeed = {
  version: "3.0",
  documents: documentsOf("3.0", {
    system_information: {
      ...{ system_id: "float", languages: ["nl"], name: [{ text: "Scooters", language: "nl" }], opening_hours: "24/7" },
      ...{ feed_contact_email: "feeds@float.example", timezone: "Europe/Amsterdam", url: "https://float.example" },
    },
    vehicle_types: {
      vehicle_types: [
        { vehicle_type_id: "moped", form_factor: "moped", propulsion_type: "electric", max_range_meters: 60_000 },
      ],
    },
    vehicle_status: {
      vehicles: [
        {
          ...{ vehicle_id: "m1", lat: 52.37, lon: 5.22, is_reserved: false, is_disabled: false },
          ...{ vehicle_type_id: "moped", current_fuel_percent: 0.5, current_range_meters: 30_000 },
        },
      ],
    },
    geofencing_zones: {
      ...collection(
        zone(area([5.2, 52.3]), {
          rules: [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }],
        }),
        zone(null, { rules: [{ ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: false }] }),
      ),
      global_rules: [{ ride_start_allowed: false, ride_end_allowed: false, ride_through_allowed: true }],
    },
  }),
  lost: [
    "geofencing_zones data.geofencing_zones.features[].type: 1 of 2",
    ...["ride_start_allowed", "ride_end_allowed", "ride_through_allowed"].map(
      (field) => `geofencing_zones data.geofencing_zones.features[].properties.rules[].${field}: 1 of 2`,
    ),
    "geofencing_zones data.geofencing_zones.features[].geometry: 0 of 1",
  ],
};

/** As in the tests of OpenTripPlanner: only zones and the system, for a fleet that the operator reports. */
const zonesAlone: PlannersFeed = {
  version: "2.3",
  documents: documentsOf("2.3", {
    system_information: { system_id: "zones", language: "nb", name: "Soner", timezone: "Europe/Oslo" },
    geofencing_zones: collection(
      zone(area([10.7, 59.9]), { name: "Parking", rules: [{ ride_allowed: false, ride_through_allowed: true }] }),
    ),
  }),
  lost: [],
};

export const plannersFeeds: Readonly<Record<string, PlannersFeed>> = { motis, lamassu, docked, floating, zonesAlone };
