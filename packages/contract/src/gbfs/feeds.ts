import { alertTypes } from "../alert-words.ts";
import { formFactors, propulsionTypes } from "../vehicle-words.ts";
import {
  boolean,
  colour,
  country,
  counts,
  currency,
  date,
  dateTime,
  email,
  type Field,
  type Fields,
  type GbfsVersion,
  gbfsVersions,
  hasField,
  id,
  isAtLeast,
  instant,
  integer,
  language,
  licence,
  list,
  multiPolygon,
  number,
  object,
  oneOf,
  openingHours,
  phone,
  string,
  text,
  textUri,
  time,
  timeZone,
  uri,
} from "./types.ts";

// Every field of every GBFS feed, from 1.0 to 3.1. Reading, publishing and checking follow from these tables. Fields
// have their newest names; `oldNames` of a feed lists the older ones. `since` and `until` are the first and the last version
// with a field or a word, and `required` may be limited in the same way.

const rentalUris = object({ android: { type: uri }, ios: { type: uri }, web: { type: uri } });
const app = object({ store_uri: { type: uri, required: true }, discovery_uri: { type: uri, required: true } });

export const systemInformation = {
  system_id: { type: id, required: true },
  language: { type: language, until: "2.3", required: true },
  languages: { type: list(language), since: "3.0", required: true },
  name: { type: text, required: true },
  opening_hours: { type: openingHours, since: "3.0", required: true },
  short_name: { type: text },
  operator: { type: text },
  url: { type: uri },
  purchase_url: { type: uri },
  start_date: { type: date },
  termination_date: { type: date, since: "3.0" },
  phone_number: { type: phone },
  email: { type: email },
  feed_contact_email: { type: email, since: "1.1", required: { since: "3.0" } },
  manifest_url: { type: uri, since: "3.0" },
  timezone: { type: timeZone, required: true },
  license_id: { type: licence, since: "3.0" },
  license_url: { type: uri },
  attribution_organization_name: { type: text, since: "3.0" },
  attribution_url: { type: uri, since: "3.0" },
  brand_assets: {
    type: object({
      brand_last_modified: { type: date, required: true },
      brand_terms_url: { type: uri },
      brand_image_url: { type: uri, required: true },
      brand_image_url_dark: { type: uri },
      color: { type: colour },
    }),
    since: "2.3",
  },
  terms_url: { type: textUri, since: "2.3" },
  terms_last_updated: { type: date, since: "2.3" },
  privacy_url: { type: textUri, since: "2.3" },
  privacy_last_updated: { type: date, since: "2.3" },
  rental_apps: { type: object({ android: { type: app }, ios: { type: app } }), since: "1.1" },
} as const satisfies Fields;

export const vehicleTypeFields = {
  vehicle_type_id: { type: id, required: true },
  form_factor: {
    type: oneOf(formFactors, {
      since: { cargo_bicycle: "2.3", scooter_standing: "2.3", scooter_seated: "2.3" },
      old: { until: "2.3", words: { scooter: "scooter_standing" } },
    }),
    required: true,
  },
  rider_capacity: { type: integer(0), since: "2.3" },
  cargo_volume_capacity: { type: integer(0), since: "2.3" },
  cargo_load_capacity: { type: integer(0), since: "2.3" },
  propulsion_type: {
    type: oneOf(propulsionTypes, {
      since: { combustion_diesel: "2.3", hybrid: "2.3", plug_in_hybrid: "2.3", hydrogen_fuel_cell: "2.3" },
    }),
    required: true,
  },
  eco_labels: {
    type: list(
      object({ country_code: { type: country, required: true }, eco_sticker: { type: string, required: true } }),
    ),
    since: "2.3",
  },
  max_range_meters: { type: number(0) },
  name: { type: text },
  vehicle_accessories: {
    type: list(
      oneOf([
        "air_conditioning",
        "automatic",
        "manual",
        "convertible",
        "cruise_control",
        "doors_2",
        "doors_3",
        "doors_4",
        "doors_5",
        "navigation",
      ]),
    ),
    since: "2.3",
  },
  g_CO2_km: { type: integer(0), since: "2.3" },
  vehicle_image: { type: uri, since: "2.3" },
  make: { type: text, since: "2.3" },
  model: { type: text, since: "2.3" },
  color: { type: string, since: "2.3" },
  description: { type: text, since: "3.0" },
  wheel_count: { type: integer(0), since: "2.3" },
  max_permitted_speed: { type: integer(0), since: "2.3" },
  rated_power: { type: integer(0), since: "2.3" },
  min_age: { type: integer(0), since: "3.1-RC3" },
  default_reserve_time: { type: integer(0), since: "2.3" },
  return_constraint: {
    type: oneOf(["free_floating", "roundtrip_station", "any_station", "hybrid"]),
    since: "2.3",
  },
  vehicle_assets: {
    type: object({
      icon_url: { type: uri, required: true },
      icon_url_dark: { type: uri },
      icon_last_modified: { type: date, required: true },
    }),
    since: "2.3",
  },
  default_pricing_plan_id: { type: id, since: "2.3" },
  pricing_plan_ids: { type: list(id), since: "2.3" },
} as const satisfies Fields;

const countOfTypes = list(
  object({ vehicle_type_ids: { type: list(id), required: true }, count: { type: integer(0), required: true } }),
);

const rentalMethods = [
  "key",
  "creditcard",
  "paypass",
  "applepay",
  "androidpay",
  "transitcard",
  "accountnumber",
  "phone",
] as const;

/** Words that are upper case up to 2.0 and lower case since. */
function sinceLowerCase<Word extends string>(words: readonly Word[]) {
  return {
    since: Object.fromEntries(words.map((word) => [word, "2.1"])) as { [Each in Word]: "2.1" }, // its keys are `words`
    old: { until: "2.0", words: Object.fromEntries(words.map((word) => [word.toUpperCase(), word])) },
  } as const;
}

export const stationInformationFields = {
  station_id: { type: id, required: true },
  name: { type: text, required: true },
  short_name: { type: text },
  lat: { type: number(-90, 90), required: true },
  lon: { type: number(-180, 180), required: true },
  address: { type: string },
  cross_street: { type: string },
  region_id: { type: id },
  post_code: { type: string },
  city: { type: string, since: "3.1-RC3" },
  station_opening_hours: { type: openingHours, since: "3.0" },
  rental_methods: { type: list(oneOf(rentalMethods, sinceLowerCase(rentalMethods)), 1) },
  is_virtual_station: { type: boolean, since: "2.1" },
  station_area: { type: multiPolygon, since: "2.1" },
  parking_type: {
    type: oneOf(["parking_lot", "street_parking", "underground_parking", "sidewalk_parking", "other"]),
    since: "2.3",
  },
  parking_hoop: { type: boolean, since: "2.3" },
  contact_phone: { type: string, since: "2.3" },
  capacity: { type: integer(0) },
  /** Vehicles that may be returned in a station's area, by type. */
  vehicle_types_capacity: { type: countOfTypes, since: "3.0" },
  vehicle_capacity: { type: counts, since: "2.1", until: "2.3" },
  /** Docks by the vehicle types that fit them. */
  vehicle_docks_capacity: { type: countOfTypes, since: "3.0" },
  vehicle_type_capacity: { type: counts, since: "2.1", until: "2.3" },
  is_valet_station: { type: boolean, since: "2.1" },
  is_charging_station: { type: boolean, since: "2.3" },
  rental_uris: { type: rentalUris, since: "1.1" },
} as const satisfies Fields;

export const stationStatusFields = {
  station_id: { type: id, required: true },
  num_vehicles_available: { type: integer(0), required: true },
  vehicle_types_available: {
    type: list(object({ vehicle_type_id: { type: id, required: true }, count: { type: integer(0), required: true } })),
    since: "2.1",
  },
  num_vehicles_disabled: { type: integer(0) },
  num_docks_available: { type: integer(0), required: { until: "1.1" } },
  num_docks_disabled: { type: integer(0) },
  vehicle_docks_available: { type: countOfTypes, since: "2.1" },
  is_installed: { type: boolean, required: true },
  is_renting: { type: boolean, required: true },
  is_returning: { type: boolean, required: true },
  last_reported: { type: instant, required: true },
} as const satisfies Fields;

export const vehicleFields = {
  vehicle_id: { type: id, required: true },
  lat: { type: number(-90, 90), required: { until: "2.0" } },
  lon: { type: number(-180, 180), required: { until: "2.0" } },
  is_reserved: { type: boolean, required: true },
  is_disabled: { type: boolean, required: true },
  rental_uris: { type: rentalUris, since: "1.1" },
  vehicle_type_id: { type: id, since: "2.1" },
  last_reported: { type: instant, since: "2.1" },
  current_range_meters: { type: number(0), since: "2.1" },
  /** From 0 to 1. */
  current_fuel_percent: { type: number(0, 1), since: "2.3" },
  station_id: { type: id, since: "2.1" },
  home_station_id: { type: id, since: "2.3" },
  pricing_plan_id: { type: id, since: "2.2" },
  vehicle_equipment: {
    type: list(oneOf(["child_seat_a", "child_seat_b", "child_seat_c", "winter_tires", "snow_chains"])),
    since: "2.3",
  },
  available_until: { type: dateTime, since: "2.3" },
} as const satisfies Fields;

export const regionFields = {
  region_id: { type: id, required: true },
  name: { type: text, required: true },
} as const satisfies Fields;

const priceSteps = list(
  object({
    start: { type: integer(0), required: true },
    rate: { type: number(), required: true },
    interval: { type: integer(0), required: true },
    end: { type: integer(0) },
  }),
);

export const pricingPlanFields = {
  plan_id: { type: id, required: true },
  name: { type: text, required: true },
  url: { type: uri },
  currency: { type: currency, required: true },
  price: { type: number(0), required: true },
  is_taxable: { type: boolean, required: true },
  description: { type: text, required: true },
  per_km_pricing: { type: priceSteps, since: "2.2" },
  per_min_pricing: { type: priceSteps, since: "2.2" },
  surge_pricing: { type: boolean, since: "2.2" },
  reservation_price_per_min: { type: number(0), since: "3.1-RC3" },
  reservation_price_flat_rate: { type: number(0), since: "3.1-RC3" },
  fare_capping: {
    type: object({ duration: { type: integer(0), required: true }, price: { type: number(0), required: true } }),
    since: "3.1-RC3",
  },
} as const satisfies Fields;

export const alertFields = {
  alert_id: { type: id, required: true },
  type: { type: oneOf(alertTypes, sinceLowerCase(alertTypes)), required: true },
  times: { type: list(object({ start: { type: instant }, end: { type: instant } })) },
  station_ids: { type: list(id) },
  region_ids: { type: list(id) },
  url: { type: textUri },
  summary: { type: text, required: true },
  description: { type: text },
  last_updated: { type: instant },
} as const satisfies Fields;

/** The fields of a rule of one zone, or of the area outside all zones. */
export const zoneRuleFields = {
  vehicle_type_ids: { type: list(id), since: "3.0" },
  vehicle_type_id: { type: list(id), since: "2.1", until: "2.3" },
  ride_start_allowed: { type: boolean, since: "3.0", required: true },
  ride_end_allowed: { type: boolean, since: "3.0", required: true },
  ride_allowed: { type: boolean, until: "2.3", required: true },
  ride_through_allowed: { type: boolean, required: true },
  maximum_speed_kph: { type: integer(0) },
  station_parking: { type: boolean, since: "2.3" },
} as const satisfies Fields;

export const zoneFields = {
  type: { type: oneOf(["Feature"]), required: true },
  geometry: { type: multiPolygon, required: true },
  properties: {
    type: object({
      name: { type: text },
      start: { type: instant },
      end: { type: instant },
      rules: { type: list(object(zoneRuleFields)) },
    }),
    required: true,
  },
} as const satisfies Fields;

const rentalHoursFields = {
  user_types: { type: list(oneOf(["member", "nonmember"]), 1), required: { since: "1.1" } },
  days: { type: list(oneOf(["sun", "mon", "tue", "wed", "thu", "fri", "sat"]), 1), required: true },
  start_time: { type: time, required: true },
  end_time: { type: time, required: true },
} as const satisfies Fields;

const calendarFields = {
  start_month: { type: integer(1, 12), required: true },
  start_day: { type: integer(1, 31), required: true },
  start_year: { type: integer() },
  end_month: { type: integer(1, 12), required: true },
  end_day: { type: integer(1, 31), required: true },
  end_year: { type: integer() },
} as const satisfies Fields;

const versionFields = {
  version: { type: oneOf(gbfsVersions, { since: { "3.1-RC3": "3.1-RC3" } }), required: true },
  url: { type: uri, required: true },
} as const satisfies Fields;

/** A feed: the `data` of one document. */
export interface GbfsFeed {
  /** The fields of `data`. For a feed of records, one of them is the list. */
  readonly fields: Fields;
  /** The field with the records, and the records' field with the id; absent for a feed without records. */
  readonly records?: { readonly list: string; readonly id: string };
  /** The first version with the feed; absent: all versions have it. */
  readonly since?: GbfsVersion;
  readonly until?: GbfsVersion;
  /** The first version in which `data` has no further fields. */
  readonly closedSince?: GbfsVersion;
  /** Older names of the feed itself and of its fields, and the last version that uses them. */
  readonly oldNames?: {
    readonly until: GbfsVersion;
    readonly feed?: string;
    readonly fields?: Readonly<Record<string, string>>;
  };
}

/** Returns a feed of records. @param idField the records' field with the id */
function feedOf(listName: string, idField: string, record: Fields, more: Omit<GbfsFeed, "fields" | "records"> = {}) {
  const records: Field = { type: list(object(record)), required: true };
  return { fields: { [listName]: records }, records: { list: listName, id: idField }, ...more } satisfies GbfsFeed;
}

/** Every feed by its newest name, except the list of feeds (`gbfs`), which differs too much between versions. */
export const gbfsFeeds = {
  gbfs_versions: {
    fields: { versions: { type: list(object(versionFields)), required: true } },
    since: "1.1",
    closedSince: "1.1",
  },
  manifest: {
    fields: {
      datasets: {
        type: list(
          object({
            system_id: { type: id, required: true },
            versions: { type: list(object(versionFields)), required: true },
            area: { type: multiPolygon, since: "3.1-RC3" },
            country_code: { type: country, since: "3.1-RC3" },
          }),
        ),
        required: true,
      },
    },
    since: "3.0",
    closedSince: "3.0",
  },
  system_information: { fields: systemInformation, closedSince: "3.0" },
  vehicle_types: feedOf("vehicle_types", "vehicle_type_id", vehicleTypeFields, {
    since: "2.1",
    oldNames: { until: "2.3", fields: { eco_labels: "eco_label" } },
  }),
  station_information: feedOf("stations", "station_id", stationInformationFields),
  station_status: feedOf("stations", "station_id", stationStatusFields, {
    oldNames: {
      until: "2.3",
      fields: { num_vehicles_available: "num_bikes_available", num_vehicles_disabled: "num_bikes_disabled" },
    },
  }),
  vehicle_status: feedOf("vehicles", "vehicle_id", vehicleFields, {
    oldNames: { until: "2.3", feed: "free_bike_status", fields: { vehicles: "bikes", vehicle_id: "bike_id" } },
  }),
  vehicle_availability: {
    fields: {
      vehicles: {
        type: list(
          object({
            vehicle_id: { type: id, required: true },
            vehicle_type_id: { type: id },
            station_id: { type: id, required: true },
            pricing_plan_id: { type: id },
            vehicle_equipment: { type: list(string) },
            availabilities: {
              type: list(object({ from: { type: instant, required: true }, until: { type: instant } })),
              required: true,
            },
          }),
        ),
        required: true,
      },
    },
    since: "3.1-RC3",
    closedSince: "3.1-RC3",
  },
  system_hours: {
    fields: { rental_hours: { type: list(object(rentalHoursFields)), required: true } },
    until: "2.3",
    oldNames: { until: "1.0", fields: { user_types: "user_type" } },
  },
  system_calendar: { fields: { calendars: { type: list(object(calendarFields)), required: true } }, until: "2.3" },
  system_regions: feedOf("regions", "region_id", regionFields),
  system_pricing_plans: feedOf("plans", "plan_id", pricingPlanFields),
  system_alerts: feedOf("alerts", "alert_id", alertFields),
  geofencing_zones: {
    fields: {
      geofencing_zones: {
        type: object({
          type: { type: oneOf(["FeatureCollection"]), required: true },
          features: { type: list(object(zoneFields)), required: true },
        }),
        required: true,
      },
      global_rules: { type: list(object(zoneRuleFields)), since: "3.0", required: true },
    },
    since: "2.1",
  },
} as const satisfies Readonly<Record<string, GbfsFeed>>;

export type GbfsFeedName = keyof typeof gbfsFeeds;

export const gbfsFeedNames = Object.keys(gbfsFeeds) as GbfsFeedName[]; // the keys are those of the record

/** Tells whether a version has a feed. */
export function hasFeed(version: GbfsVersion, name: GbfsFeedName): boolean {
  const feed: GbfsFeed = gbfsFeeds[name];
  // Only `since` and `until` decide. A field must have a type, so here it has any.
  return hasField(version, { ...feed, type: string });
}

/** Returns a feed's name in a version: `vehicle_status` was `free_bike_status`. */
export function feedNameIn(version: GbfsVersion, name: GbfsFeedName): string {
  return oldNamesIn(version, name)?.feed ?? name;
}

/** Returns the name of a field in a version: `num_vehicles_available` was `num_bikes_available`. */
export function fieldNameIn(version: GbfsVersion, feed: GbfsFeedName, field: string): string {
  return oldNamesIn(version, feed)?.fields?.[field] ?? field;
}

/** Returns the older names of a feed and its fields; undefined: in this version they have their newest names. */
function oldNamesIn(version: GbfsVersion, name: GbfsFeedName): GbfsFeed["oldNames"] {
  const { oldNames }: GbfsFeed = gbfsFeeds[name];
  return oldNames !== undefined && isAtLeast(oldNames.until, version) ? oldNames : undefined;
}
