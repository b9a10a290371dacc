// A GBFS 2.3 feed for tests, in the style of Lyft's feeds: flags as 0 and 1, prices as strings, a phone number without
// country code, links without app addresses, empty lists. It also has every optional field.

const links = { ios: "https://link.example/open", android: "https://link.example/open" };
const polygon = {
  type: "MultiPolygon",
  coordinates: [
    [
      [
        [10, 59],
        [11, 59],
        [11, 60],
        [10, 60],
        [10, 59],
      ],
    ],
  ],
};
const rule = { vehicle_type_id: ["2"], ride_allowed: false, ride_through_allowed: true, maximum_speed_kph: 12 };
const icon = { icon_url: "https://bikes.example/i.svg", icon_url_dark: "https://bikes.example/d.svg" };

const data = {
  system_information: {
    ...{ system_id: "lyft_xyz", language: "en", name: "City bikes", short_name: "CB", operator: "The operator" },
    ...{ url: "http://www.bikes.example", purchase_url: "https://bikes.example/buy", start_date: "2013-06-28" },
    ...{ phone_number: "855-553-4889", email: "help@bikes.example", feed_contact_email: "feeds@bikes.example" },
    ...{ timezone: "America/Chicago", license_url: "https://bikes.example/licence" },
    brand_assets: {
      ...{ brand_last_modified: "2024-01-01", brand_terms_url: "https://bikes.example/brand", color: "#00aa00" },
      ...{ brand_image_url: "https://bikes.example/b.svg", brand_image_url_dark: "https://bikes.example/bd.svg" },
    },
    ...{ terms_url: "https://bikes.example/terms", terms_last_updated: "2024-01-02" },
    ...{ privacy_url: "https://bikes.example/privacy", privacy_last_updated: "2024-01-03" },
  },
  system_hours: { rental_hours: [] },
  system_calendar: { calendars: [{ start_month: 1, start_day: 1, end_month: 12, end_day: 31 }] },
  system_regions: { regions: [{ region_id: "35", name: "Evanston" }] },
  system_pricing_plans: {
    plans: [
      {
        ...{ plan_id: "EBIKE", name: "E-bike", currency: "USD", price: "1.00", is_taxable: true, surge_pricing: false },
        ...{ description: "$1.00 unlock fee, $0.44 per minute.", url: "https://bikes.example/prices" },
        per_min_pricing: [{ start: 0, interval: 1, rate: 0.44, end: 60 }],
        per_km_pricing: [{ start: 0, interval: 1, rate: 0.1 }],
      },
    ],
  },
  vehicle_types: {
    vehicle_types: [
      { vehicle_type_id: "1", form_factor: "bicycle", propulsion_type: "human" },
      {
        ...{ vehicle_type_id: "2", form_factor: "bicycle", propulsion_type: "electric_assist", name: "E" },
        ...{ max_range_meters: 54_717.56, rider_capacity: 1, cargo_volume_capacity: 3, cargo_load_capacity: 10 },
        ...{ eco_label: [{ country_code: "DE", eco_sticker: "4" }], vehicle_accessories: ["automatic"], g_CO2_km: 0 },
        ...{ vehicle_image: "https://bikes.example/e.jpg", make: "Maker", model: "M", color: "red", wheel_count: 2 },
        ...{ max_permitted_speed: 25, rated_power: 250, default_reserve_time: 10, return_constraint: "hybrid" },
        ...{ vehicle_assets: { ...icon, icon_last_modified: "2024-01-01" } },
        ...{ default_pricing_plan_id: "EBIKE", pricing_plan_ids: ["EBIKE"] },
      },
      { vehicle_type_id: "3", form_factor: "scooter", propulsion_type: "electric", max_range_meters: 70_810.96 },
    ],
  },
  station_information: {
    stations: [
      { station_id: "s1", name: "Plain", lat: 41.92227, lon: -87.80202, capacity: 15, rental_uris: links },
      {
        ...{ station_id: "s2", name: "Full", short_name: "21378", lat: 41.968, lon: -87.773, region_id: "35" },
        ...{ address: "39, West 47th Street", cross_street: "at the park", post_code: "60609", capacity: 16 },
        ...{ rental_methods: ["key", "creditcard"], is_virtual_station: false, station_area: polygon },
        ...{ parking_type: "sidewalk_parking", parking_hoop: true, contact_phone: "1-800", is_valet_station: false },
        ...{ is_charging_station: true, vehicle_capacity: { 1: 4 }, vehicle_type_capacity: { 1: 10, 2: 6 } },
        rental_uris: { ...links, web: "https://bikes.example/s2" },
      },
    ],
  },
  station_status: {
    stations: ["s1", "s2"].map((station_id) => ({
      ...{ station_id, num_bikes_available: 3, num_bikes_disabled: 1, num_docks_available: 10, num_docks_disabled: 0 },
      ...{ is_installed: 1, is_renting: 1, is_returning: 0, last_reported: 1_738_143_909 },
      ...{ num_ebikes_available: 0, num_scooters_available: 0 },
      vehicle_types_available: [
        { vehicle_type_id: "1", count: 3 },
        { vehicle_type_id: "2", count: 0 },
      ],
      vehicle_docks_available: [
        { vehicle_type_ids: ["1"], count: 8 },
        { vehicle_type_ids: ["2"], count: 2 },
      ],
    })),
  },
  free_bike_status: {
    bikes: [
      {
        ...{ bike_id: "f0de", lat: 41.736411929, lon: -87.705006957, is_reserved: 0, is_disabled: 0 },
        ...{ vehicle_type_id: "2", current_range_meters: 54_234.89280000001, rental_uris: links },
      },
      {
        ...{ bike_id: "77ca", lat: 41.8, lon: -87.6, is_reserved: 1, is_disabled: 0, station_id: "s1" },
        ...{ vehicle_type_id: "2", current_range_meters: 5, current_fuel_percent: 0.5, home_station_id: "s2" },
        ...{ pricing_plan_id: "EBIKE", vehicle_equipment: ["child_seat_a"], last_reported: 1_738_143_900 },
        ...{ available_until: "2025-02-01T10:00:00Z" },
      },
    ],
  },
  system_alerts: {
    alerts: [
      {
        ...{ alert_id: "a", type: "station_closure", summary: "Closed", description: "For the winter" },
        ...{ url: "https://bikes.example/a", station_ids: ["s1"], region_ids: ["35"], last_updated: 1_738_000_000 },
        times: [{ start: 1_735_689_600, end: 4_102_444_800 }],
      },
    ],
  },
  geofencing_zones: {
    geofencing_zones: {
      type: "FeatureCollection",
      features: [{ type: "Feature", geometry: polygon, properties: { name: "Park", rules: [rule] } }],
    },
  },
};

export const cityWithEveryField: Readonly<Record<string, { readonly data: object }>> = Object.fromEntries(
  Object.entries(data).map(([feed, content]) => [
    feed,
    { last_updated: 1_738_144_058, ttl: 60, version: "2.3", data: content },
  ]),
);
