import { type FactKind, factKinds, type Facts } from "@bikeshare/contract/facts";
import { expect, test } from "vitest";
import { draftOf, unreadNumbers, unreadyOf, valueOf } from "../../src/pages/gbfs/form-values.ts";
import { zonesFrom } from "../../src/pages/gbfs/geojson.ts";
import { priceInWords } from "../../src/pages/gbfs/price-in-words.ts";
import { indexOfZone, lookOf, ruleInWords } from "../../src/pages/gbfs/zone-rules.ts";

const ring = [
  [10, 59],
  [11, 59],
  [11, 60],
  [10, 59],
];
const area = { type: "MultiPolygon", coordinates: [[ring]] };
const rules = [{ ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true }];

const told: { readonly [Kind in FactKind]?: object } = {
  system: {
    name: [{ text: "Bysykkel", language: "nb" }],
    brand_assets: { brand_last_modified: "2026-01-31", brand_image_url: "https://bikes.example/logo.svg" },
    rental_apps: { ios: { store_uri: "https://apps.example", discovery_uri: "bikes://" } },
  },
  pricing_plan: { price: 0, is_taxable: false, per_min_pricing: [{ start: 0, rate: 0.1, interval: 1 }] },
  station: {
    rental_methods: ["key"],
    station_area: area,
    vehicle_docks_capacity: [{ vehicle_type_ids: ["a"], count: 2 }],
  },
  geofencing_zones: { features: [{ type: "Feature", geometry: area, properties: { rules } }] },
};

test.each(Object.entries(told))("a form that nobody has changed says the same of a %s as before", (kind, facts) => {
  const table: Facts = factKinds[kind as FactKind];
  for (const [name, value] of Object.entries(facts)) {
    const type = table[name]?.type;
    expect(type && valueOf(type, draftOf(type, value)), name).toEqual(value);
  }
});

test("an input that is emptied says nothing, and a number that is none goes to the service as it is", () => {
  const { per_min_pricing: steps, price } = factKinds.pricing_plan;
  expect(valueOf(steps.type, [{ start: "", rate: "" }])).toBeUndefined();
  expect(valueOf(steps.type, [{ start: "0", rate: "0,5", interval: "1" }])).toEqual([
    { start: 0, rate: 0.5, interval: 1 },
  ]);
  expect(valueOf(price.type, "two")).toBe("two");
  expect(valueOf(price.type, "  ")).toBeUndefined();
});

test("all required facts that are missing, and all numbers that are none, are found at once", () => {
  const pathsOf = (published: object, drafts: object) =>
    unreadyOf(factKinds.pricing_plan, published as Record<string, unknown>, drafts as Record<string, unknown>).map(
      ({ path }) => path,
    );
  expect(pathsOf({}, {})).toEqual(["name", "currency", "price", "is_taxable", "description"]);
  const drafts = { name: [{ text: "Ride", language: "en" }], price: "two", reservation_price_per_min: "0,1" };
  expect(pathsOf({ currency: "EUR" }, drafts)).toEqual(["price", "is_taxable", "description"]);
});

test.each([
  ["2,5", 2.5],
  ["0,125", 0.125],
  ["-0,5", -0.5],
  [",5", 0.5],
  ["12,50", 12.5],
  ["1,2345", 1.2345],
  ["1234,567", 1234.567],
  ["1.125", 1.125],
  ["25000", 25_000],
])("the number %s is read with its decimal comma or point", (typed, number) => {
  expect(valueOf(factKinds.pricing_plan.price.type, typed)).toBe(number);
});

test.each(["25,000", "-1,234", "1,234,567", "1,234.5", "1.234,5", "two", "Infinity"])(
  "%s is refused with how to write a number, and not changed to another one",
  (typed) => {
    const published = { name: "Ride", currency: "EUR", is_taxable: true, description: "Ride" };
    const message = `Cannot be "${typed}": write a number as 25000 or 2.5`;
    expect(valueOf(factKinds.pricing_plan.price.type, typed)).toBe(typed);
    expect(unreadyOf(factKinds.pricing_plan, published, { price: typed })).toEqual([{ path: "price", message }]);
  },
);

test("a number that cannot be read is found at its own field, also in a list or an object", () => {
  const plan = factKinds.pricing_plan;
  const published = { name: "Ride", currency: "EUR", price: 0, is_taxable: true, description: "Ride" };
  const drafts = { per_min_pricing: [{ start: "" }, { start: "0", rate: "1,000" }], fare_capping: { price: "99,5" } };
  const message = 'Cannot be "1,000": write a number as 25000 or 2.5';
  expect(unreadyOf(plan, published, drafts)).toEqual([{ path: "per_min_pricing[1].rate", message }]);
  const { features } = factKinds.geofencing_zones;
  const zones = [6, "1,000"].map((speed) => ({ properties: { rules: [{ maximum_speed_kph: speed }] } }));
  expect(unreadNumbers(features.type, "features", zones)).toEqual([
    { path: "features[1].properties.rules[0].maximum_speed_kph", message },
  ]);
});

test("zones are read from what drawing programs write, and from GBFS", () => {
  const polygon = { type: "Polygon", coordinates: [ring] };
  const feature = { type: "Feature", geometry: polygon, properties: { name: "Harbour", fill: "#f00", rules: null } };
  const point = { type: "Feature", geometry: { type: "Point", coordinates: [10, 59] }, properties: {} };
  const zone = { type: "Feature", geometry: area, properties: { name: "Harbour" } };
  const collection = { type: "FeatureCollection", features: [feature, point] };
  expect(zonesFrom(JSON.stringify(collection))).toEqual([zone]);
  expect(zonesFrom(JSON.stringify({ data: { geofencing_zones: collection } }))).toEqual([zone]);
  expect(zonesFrom(JSON.stringify(feature))).toEqual([zone]);
  expect(zonesFrom(JSON.stringify(polygon))).toEqual([{ ...zone, properties: {} }]);
  for (const nothing of ["{}", "nothing", JSON.stringify(point)]) expect(zonesFrom(nothing)).toBeUndefined();
});

test.each([
  [{ currency: "EUR", price: 0 }, "Free."],
  [{ currency: "EUR", price: 3.5, is_taxable: true }, "€3.50 for the ride, plus tax."],
  [
    { currency: "EUR", price: 1, per_min_pricing: [{ start: 30, rate: 0.125, interval: 1 }] },
    "€1.00 for the ride, €0.125 a minute from minute 30.",
  ],
  [
    {
      ...{ currency: "NOK", price: 0, reservation_price_per_min: 1 },
      per_km_pricing: [{ start: 0, rate: 5, interval: 2, end: 10 }],
      fare_capping: { duration: 1440, price: 99 },
    },
    "NOK 5.00 every 2 kilometres until kilometre 10, NOK 1.00 a minute to hold it, at most NOK 99.00 within 1440 minutes.",
  ],
])("a rider reads of %j: %s", (plan, sentence) => {
  expect(priceInWords(plan).replaceAll("\u00a0", " ")).toBe(sentence);
});

test("a zone is drawn by its strongest ban", () => {
  const all = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };
  expect(lookOf([{ ...all, ride_end_allowed: false, ride_through_allowed: false }]).title).toBe("No riding");
  expect(lookOf(rules).title).toBe("No parking");
  expect(lookOf([all]).title).toBe("Riding and parking");
  expect(ruleInWords([{ ...all, maximum_speed_kph: 6 }])).toBe("at most 6 km/h");
});

test("an opened zone is found in a list that others have changed, unless they changed or removed it", () => {
  const [harbour, park, square] = ["harbour", "park", "square"].map((name) => ({ properties: { name } }));
  expect(indexOfZone([harbour, park, square], { ...park }, 1)).toBe(1);
  expect(indexOfZone([park, square], { ...park }, 1)).toBe(0);
  expect(indexOfZone([park, harbour, { ...park }], { ...park }, 2)).toBe(2);
  expect(indexOfZone([harbour, { properties: { name: "park", rules } }, square], park, 1)).toBe(-1);
  expect(indexOfZone([], park, 0)).toBe(-1);
});
