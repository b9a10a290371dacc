import { expect, test } from "vitest";
import { emailFrom, languageFrom, timeZoneFrom } from "../../city/descriptions/lenient-values.rules.ts";
import { readDescription } from "./descriptions.ts";

const NOW = Date.UTC(2026, 0, 1);
const document = (data: unknown) => ({ last_updated: NOW / 1000, data });
const issues = ({ problems }: ReturnType<typeof readDescription>) =>
  problems.map(({ field, reason }) => [field, reason]);

const contentOf = ({ json }: ReturnType<typeof readDescription>) => JSON.parse(json) as unknown;

test("a system is read alike from 2.x and 3.x, with every field", () => {
  const common = { timezone: "europe/oslo", feed_contact_email: "a@b.no", purchase_url: "https://b.no/buy" };
  const old = { ...common, name: "Bysykkel", language: "nb_no", system_id: "oslo" };
  const now = {
    ...common,
    name: [{ text: "Bysykkel", language: "nb" }],
    languages: ["nb-NO", "en"],
    opening_hours: "24/7",
  };
  const read = { timezone: "Europe/Oslo", feed_contact_email: "a@b.no", purchase_url: "https://b.no/buy" };
  const said = readDescription("system_information", document(old), NOW);
  expect([said, contentOf(said)]).toMatchObject([
    { problems: [], notTaken: [], at: NOW, publishedId: "oslo", language: "nb-NO" },
    { ...read, name: [{ text: "Bysykkel", language: "nb-NO" }], language: "nb-NO", languages: ["nb-NO"] },
  ]);
  const saidNow = readDescription("system_information", document(now), NOW);
  expect([saidNow, contentOf(saidNow)]).toMatchObject([
    { problems: [] },
    { ...read, name: [{ text: "Bysykkel", language: "nb" }], languages: ["nb-NO", "en"], opening_hours: "24/7" },
  ]);
});

test("a word about the system that means nothing is left out and reported", () => {
  const said = readDescription(
    "system_information",
    document({ name: {}, language: "12", timezone: "Mars/Base", feed_contact_email: "x", url: "javascript:alert(1)" }),
    NOW,
  );
  expect(contentOf(said)).toEqual({});
  expect(issues(said)).toEqual([
    ["language", "not_a_language"],
    ["name", "not_a_string"],
    ["url", "not_an_address"],
    ["feed_contact_email", "not_an_address"],
    ["timezone", "not_a_time_zone"],
  ]);
});

test("vehicle types keep their words; unknown ones are repaired, and one bad type costs no other", () => {
  const said = readDescription(
    "vehicle_types",
    document({
      vehicle_types: [
        { vehicle_type_id: "s", form_factor: "scooter", propulsion_type: "electric", max_range_meters: "1200.5" },
        { vehicle_type_id: "a", form_factor: "hovercraft", propulsion_type: null, max_range_meters: -1, _own: 1 },
        { form_factor: "bicycle" },
      ],
    }),
    NOW,
  );
  expect(contentOf(said)).toEqual([
    { vehicle_type_id: "a", form_factor: "other" },
    { vehicle_type_id: "s", form_factor: "scooter_standing", propulsion_type: "electric", max_range_meters: 1200.5 },
  ]);
  expect(issues(said)).toEqual([
    ["form_factor", "unknown_word"],
    ["max_range_meters", "out_of_range"],
    ["vehicle_type_id", "not_an_identifier"],
  ]);
  expect(said.notTaken).toEqual(["_own"]);
});

test("zones of 2.x have the rules of 3.x, closed rings and MultiPolygons", () => {
  const ring = [
    [10, 59],
    [11, 59],
    [11, 60, 100],
  ];
  const said = readDescription(
    "geofencing_zones",
    document({
      geofencing_zones: {
        type: "FeatureCollection",
        features: [
          {
            type: "Feature",
            geometry: { type: "Polygon", coordinates: [ring] },
            properties: {
              name: "Park",
              start: 1_700_000_000,
              rules: [
                { vehicle_type_id: ["a"], ride_allowed: false, ride_through_allowed: true, maximum_speed_kph: 6 },
              ],
            },
          },
          { type: "Feature", geometry: { type: "Point", coordinates: [1, 2] }, properties: {} },
        ],
      },
    }),
    NOW,
  );
  expect(contentOf(said)).toEqual({
    features: [
      {
        type: "Feature",
        geometry: {
          type: "MultiPolygon",
          coordinates: [
            [
              [
                [10, 59],
                [11, 59],
                [11, 60],
                [10, 59],
              ],
            ],
          ],
        },
        properties: {
          name: [{ text: "Park", language: "en" }],
          start: "2023-11-14T22:13:20Z",
          rules: [
            {
              vehicle_type_ids: ["a"],
              ride_start_allowed: false,
              ride_end_allowed: false,
              ride_through_allowed: true,
              maximum_speed_kph: 6,
            },
          ],
        },
      },
    ],
  });
  expect(issues(said)).toEqual([
    ["geometry", "not_a_multipolygon"],
    ["geometry", "missing"],
  ]);
});

test("plans, alerts, hours and calendars of any version are read into one form; a list without records says so", () => {
  const plan = {
    plan_id: 1,
    name: "Ride",
    currency: "nok",
    price: "12.5",
    is_taxable: 0,
    description: "12.50 per ride",
  };
  const steps = [{ start: 0, rate: "1.5", interval: 1 }, { start: 9 }];
  const plans = readDescription(
    "system_pricing_plans",
    document({ plans: [{ ...plan, per_min_pricing: steps }] }),
    NOW,
    "nb",
  );
  expect(contentOf(plans)).toEqual([
    {
      plan_id: "1",
      name: [{ text: "Ride", language: "nb" }],
      currency: "NOK",
      price: 12.5,
      is_taxable: false,
      description: [{ text: "12.50 per ride", language: "nb" }],
      per_min_pricing: [{ start: 0, rate: 1.5, interval: 1 }],
    },
  ]);
  expect(issues(plans)).toEqual([["per_min_pricing.rate", "missing"]]);
  const alert = { alert_id: "a", type: "STATION_CLOSURE", summary: "Works", times: [{ start: NOW / 1000, end: 0 }] };
  expect(contentOf(readDescription("system_alerts", document({ alerts: [alert] }), NOW))).toMatchObject([
    { type: "station_closure", times: [{ start: "2026-01-01T00:00:00Z" }] },
  ]);
  const hours = { user_type: "member", days: ["mon"], start_time: "6:00", end_time: "24:30:00" };
  expect(contentOf(readDescription("system_hours", document({ rental_hours: [hours] }), NOW))).toEqual([
    { user_types: ["member"], days: ["mon"], start_time: "06:00:00", end_time: "24:30:00" },
  ]);
  expect(contentOf(readDescription("system_calendar", document({ calendars: [] }), NOW))).toEqual([]);
});

test.each([
  [
    languageFrom,
    ["EN", "en_us", "zh-Hans-CN", "fil"],
    ["en", "en-US", "zh-CN", "fil"],
    ["", "e", "english", "12", null, 3],
  ],
  [timeZoneFrom, ["utc", "America/Chicago"], ["UTC", "America/Chicago"], ["+01:00", "", "Nowhere", null]],
  [
    emailFrom,
    [" a.b+c@d-e.example "],
    ["a.b+c@d-e.example"],
    ["a@b", ".a@b.no", "a@-b.no", "a@b-.no", "a b@c.no", `${"a".repeat(250)}@b.no`, null],
  ],
] as const)("%o reads what it knows and nothing else", (read, known, meant, unknown) => {
  expect(known.map((value) => read(value))).toEqual(meant);
  expect(unknown.map((value) => read(value))).toEqual(unknown.map(() => undefined));
});
