import { expect, test } from "vitest";
import { emailFrom, languageFrom, timeZoneFrom } from "../../city/systems/fact-values.rules.ts";
import { readDescription } from "./descriptions.ts";

const NOW = Date.UTC(2026, 0, 1);
const document = (data: unknown) => ({ last_updated: NOW / 1000, data });
const issues = ({ problems }: ReturnType<typeof readDescription>) =>
  problems.map(({ field, reason }) => [field, reason]);

test("a system is read alike from 2.x and 3.x", () => {
  const content = {
    name: "Bysykkel",
    language: "nb-NO",
    timezone: "Europe/Oslo",
    feed_contact_email: "a@b.no",
    opening_hours: null,
  };
  const old = { name: "Bysykkel", language: "nb_no", timezone: "europe/oslo", feed_contact_email: "a@b.no" };
  const now = {
    ...old,
    name: [{ text: "Bysykkel", language: "nb" }],
    languages: ["nb-NO", "en"],
    opening_hours: "24/7",
  };
  expect(readDescription("system_information", document(old), NOW)).toMatchObject({ content, problems: [], at: NOW });
  expect(readDescription("system_information", document(now), NOW)).toMatchObject({
    content: { ...content, opening_hours: "24/7" },
    problems: [],
  });
});

test("a word about the system that means nothing is left out and reported", () => {
  const said = readDescription(
    "system_information",
    document({ name: {}, language: "12", timezone: "Mars/Base", feed_contact_email: "x" }),
    NOW,
  );
  expect(said.content).toEqual({
    name: null,
    language: null,
    timezone: null,
    feed_contact_email: null,
    opening_hours: null,
  });
  expect(issues(said)).toEqual([
    ["name", "not_a_string"],
    ["language", "not_a_language"],
    ["timezone", "not_a_time_zone"],
    ["feed_contact_email", "not_an_address"],
  ]);
});

test("vehicle types keep their words; unknown ones are repaired, and one bad type costs no other", () => {
  const said = readDescription(
    "vehicle_types",
    document({
      vehicle_types: [
        { vehicle_type_id: "s", form_factor: "scooter", propulsion_type: "electric", max_range_meters: "1200.5" },
        { vehicle_type_id: "a", form_factor: "hovercraft", propulsion_type: null, max_range_meters: -1 },
        { form_factor: "bicycle" },
      ],
    }),
    NOW,
  );
  expect(said.content).toEqual([
    { id: "a", name: null, form_factor: "other", propulsion_type: "human", max_range_meters: null },
    { id: "s", name: null, form_factor: "scooter_standing", propulsion_type: "electric", max_range_meters: 1200.5 },
  ]);
  expect(issues(said)).toEqual([
    ["form_factor", "unknown_word"],
    ["propulsion_type", "missing"],
    ["vehicle_type_id", "not_an_identifier"],
  ]);
});

test("a region without a name is called by its id", () => {
  expect(readDescription("system_regions", document({ regions: [{ region_id: 3 }] }), NOW).content).toEqual([
    { id: "3", name: "3" },
  ]);
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
