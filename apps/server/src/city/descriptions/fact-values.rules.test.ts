import { type FactChanges, type FactKind, factKinds } from "@bikeshare/contract";
import { expect, test } from "vitest";
import { applyChanges, requireFitting } from "./facts.rules.ts";

const known = { plans: new Set(["day"]), types: new Set(["ebike"]) };
const square = (west: number, south: number, size = 1) => [
  [west, south],
  [west + size, south],
  [west + size, south + size],
  [west, south + size],
  [west, south],
];
const closed = (...positions: readonly number[][]) => [...positions, positions[0]];
const zone = (
  coordinates: unknown,
  rules: unknown = [{ ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true }],
) => ({
  features: [{ type: "Feature", geometry: { type: "MultiPolygon", coordinates }, properties: { rules } }],
  global_rules: [{ ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true }],
});
const plan = {
  ...{ name: "Day", currency: "eur", price: 3.5, is_taxable: true, description: "3.50 € a day" },
  per_min_pricing: [{ start: 30, rate: 0.1, interval: 1 }],
};

function set(kind: FactKind, given: object) {
  const values = applyChanges(kind, {}, given as FactChanges<FactKind>, "nb");
  requireFitting(kind, { own: values, published: values }, known);
  return values;
}

test("facts are kept in canonical form: texts with their language, instants in UTC, currencies and licences in their usual writing", () => {
  expect(set("pricing_plan", plan)).toMatchObject({
    name: [{ text: "Day", language: "nb" }],
    currency: "EUR",
    price: 3.5,
  });
  expect(
    set("system", {
      name: [
        { text: "Bysykkel", language: "nb_NO" },
        { text: "City bikes", language: "en" },
      ],
      licence: "cc-by-4.0",
    }),
  ).toEqual({
    name: [
      { text: "Bysykkel", language: "nb-NO" },
      { text: "City bikes", language: "en" },
    ],
    licence: "CC-BY-4.0",
  });
  expect(set("bike", { available_until: "2026-06-01T10:00:00+02:00" })).toEqual({
    available_until: "2026-06-01T08:00:00Z",
  });
  expect(set("geofencing_zones", zone([[square(10, 59), square(10.2, 59.2, 0.1)], [square(12, 59)]]))).toBeDefined();
  // A hole may touch the ring, at a corner or along an edge.
  const touching = closed([0, 1], [1, 0], [2, 2]);
  expect(set("geofencing_zones", zone([[square(0, 0, 4), touching]]))).toBeDefined();
});

test.each<[FactKind, object, string, RegExp]>([
  ["system", { timezone: "EST" }, "timezone", /IANA time zone/],
  ["system", { timezone: "+01:00" }, "timezone", /IANA time zone/],
  ["system", { feed_contact_email: "nobody" }, "feed_contact_email", /mail address/],
  ["system", { language: "english" }, "language", /BCP 47/],
  ["system", { licence: "mine" }, "licence", /SPDX/],
  ["system", { url: "bikes.example" }, "url", /https/],
  ["system", { terms_url: "bikes.example" }, "terms_url", /begins with https:\/\/ or http:\/\//],
  ["system", { url: "https://user:secret@bikes.example" }, "url", /https/],
  ["system", { phone_number: "22 00 11 22" }, "phone_number", /\+4722001122/],
  ["system", { start_date: "2026-02-30" }, "start_date", /a day/],
  ["bike", { available_until: "2026-02-30T08:00:00Z" }, "available_until", /2026/],
  ["system", { start_date: "2026-03-01", termination_date: "2026-02-01" }, "termination_date", /after start_date/],
  [
    "system",
    {
      name: [
        { text: "A", language: "en" },
        { text: "B", language: "en" },
      ],
    },
    "name",
    /one text in each/,
  ],
  ["system", { station_links: { web: "https://bikes.example/s" } }, "station_links.web", /\{station_id\}/],
  ["system", { vehicle_links: { web: "https://bikes.example/{station_id}" } }, "vehicle_links.web", /\{vehicle_id\}/],
  ["system", { station_links: { web: "javascript:alert('{station_id}')" } }, "station_links.web", /https/],
  ["system", { vehicle_links: { ios: "javascript:alert('{vehicle_id}')" } }, "vehicle_links.ios", /an address/],
  ["system", { vehicle_links: { ios: "bikes://{vehicle_id}" } }, "rental_apps.ios.store_uri", /requires it/],
  ["system", { rental_apps: { ios: { discovery_uri: "bikes://" } } }, "rental_apps.ios.store_uri", /given/],
  ["system", { brand_assets: { color: "red" } }, "brand_assets.brand_last_modified", /given/],
  ["system", { colour: "red" }, "colour", /left out: there are/],
  ["vehicle_type", { default_pricing_plan_id: "month" }, "default_pricing_plan_id", /there are day/],
  ["vehicle_type", { propulsion_type: "magic" }, "propulsion_type", /one of human/],
  ["vehicle_type", { wheel_count: 2.5 }, "wheel_count", /whole number/],
  ["pricing_plan", { name: "Day" }, "currency", /given/],
  ["pricing_plan", { ...plan, currency: "EUR,USD" }, "currency", /one currency/],
  ["pricing_plan", { ...plan, price: -1 }, "price", /a number from 0/],
  [
    "pricing_plan",
    { ...plan, per_km_pricing: [{ start: 5, end: 5, rate: 1, interval: 1 }] },
    "per_km_pricing[0].end",
    /more than its start/,
  ],
  [
    "pricing_plan",
    { ...plan, reservation_price_per_min: 1, reservation_price_flat_rate: 1 },
    "reservation_price_flat_rate",
    /left out/,
  ],
  ["station", { rental_methods: ["cash"] }, "rental_methods[0]", /one of key/],
  ["station", { rental_methods: ["key", "key"] }, "rental_methods", /nothing twice/],
  [
    "station",
    { vehicle_docks_capacity: [{ vehicle_type_ids: ["boat"], count: 2 }] },
    "vehicle_docks_capacity",
    /there are ebike/,
  ],
  ["geofencing_zones", zone([[square(0, 0).slice(1)]]), "features[0].geometry", /closed rings/],
  [
    "geofencing_zones",
    zone([
      [
        [
          [0, 0],
          [1, 1],
          [1, 0],
          [0, 1],
          [0, 0],
        ],
      ],
    ]),
    "features[0].geometry",
    /neither cross/,
  ],
  ["geofencing_zones", zone([[square(0, 0, 4), square(3, 3, 2)]]), "features[0].geometry", /neither cross/],
  ["geofencing_zones", zone([[square(0, 0), square(5, 5)]]), "features[0].geometry", /holes/],
  // The hole touches two corners of the ring, and its third is outside.
  [
    "geofencing_zones",
    zone([[square(0, 0, 4), closed([2, 2], [4, 4], [6, 2], [4, 0])]]),
    "features[0].geometry",
    /holes/,
  ],
  ["geofencing_zones", zone([[square(200, 0)]]), "features[0].geometry", /WGS 84/],
  ["geofencing_zones", zone([[square(0, 0)]], []), "features[0].properties.rules", /one or more rules/],
])("%s: %j is refused with the field and the fix", (kind, given, path, expected) => {
  expect(() => set(kind, given)).toThrow(
    expect.objectContaining({ path, expected: expect.stringMatching(expected) as string }) as Error,
  );
});

test("null removes a fact, what is left out stays", () => {
  const held = applyChanges("system", {}, { url: "https://bikes.example", email: "a@bikes.example" }, "en");
  expect(applyChanges("system", held, { url: null }, "en")).toEqual({ email: "a@bikes.example" });
  expect(Object.keys(factKinds.system)).toContain("email");
});
