import {
  type Fields,
  type FieldType,
  type GbfsFeed,
  gbfsFeeds,
  type GbfsVersion,
  gbfsVersions,
  hasField,
  hasFeed,
  isAtLeast,
} from "@bikeshare/contract";
import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test } from "vitest";
import { type FeedData, writeData } from "../gbfs-out/writer.ts";
import { currentFields, stationFacts, vehicleFacts } from "./canonical.ts";
import { descriptiveFeeds, readDescription } from "./descriptions.ts";
import { readStationInformation, readVehicles } from "./documents.ts";
import { identifierFrom, textFrom } from "./values.ts";

const NOW = Date.UTC(2026, 0, 1);
const LANGUAGE = "nb";

const strings = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => textFrom(text) === text);
const ids = fc.string({ minLength: 1, maxLength: 8 }).filter((text) => identifierFrom(text) === text);
const uris = fc.oneof(fc.webUrl(), fc.constant("bikes://station?id=1"));
const days = fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true });
const instants = days
  .filter((day) => day.getUTCFullYear() > 2016)
  .map((day) => `${day.toISOString().slice(0, -".000Z".length)}Z`);
const degrees = (most: number) => fc.double({ min: -most, max: most, noNaN: true }).map((value) => value + 0);
const points = fc.tuple(degrees(180), degrees(90));
const rings = fc
  .array(points, { minLength: 3, maxLength: 5 })
  .map(([first = [0, 0], ...rest]) => [first, ...rest, first]);
const texts = (version: GbfsVersion, each: Arbitrary<string>) =>
  isAtLeast(version, "3.0")
    ? fc.uniqueArray(fc.record({ text: each, language: fc.constantFrom("en", "nb", "fr-CA") }), {
        minLength: 1,
        selector: ({ language }) => language,
      })
    : each.map((text) => [{ text, language: LANGUAGE }]);

/** Generates canonical values of a type that a version of GBFS can express. */
function valuesOf(type: FieldType, version: GbfsVersion): Arbitrary<unknown> {
  const { min = 0, max = 1_000_000 } = type;
  switch (type.kind) {
    case "id":
      return ids;
    case "uri":
      return uris;
    case "email":
      return fc.constantFrom("a@b.no", "feeds+1@bikes.example");
    case "date":
      return days.map((day) => day.toISOString().slice(0, 10));
    case "time":
      return fc.constantFrom("06:00:00", "23:59:59", "25:30:00");
    case "instant":
    case "dateTime":
      return instants;
    case "language":
      return fc.constantFrom("nb", "en-GB");
    case "timeZone":
      return fc.constantFrom("Europe/Oslo", "America/Chicago");
    case "openingHours":
      return fc.constantFrom("24/7", "Mo-Fr 08:00-20:00");
    case "colour":
      return fc.constantFrom("#00ff00", "#AABBCC");
    case "currency":
      return fc.constantFrom("NOK", "EUR");
    case "country":
      return fc.constantFrom("NO", "FR");
    case "phone":
      // GBFS 3.x accepts no phone number without a country code.
      return isAtLeast(version, "3.0") ? fc.constantFrom("+4722001122", "+18555534889") : strings;
    case "text":
      return texts(version, strings);
    case "textUri":
      return texts(version, uris);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min, max });
    case "number":
      return fc.double({ min, max, noNaN: true }).map((value) => value + 0);
    case "oneOf":
      return fc.constantFrom(...(type.words ?? []));
    case "list":
      return type.item === undefined
        ? fc.constant([])
        : fc.array(valuesOf(type.item, version), { minLength: type.min ?? 0, maxLength: 3 });
    case "object":
      return recordsOf(type.fields ?? {}, version);
    case "multiPolygon":
      return fc
        .array(fc.array(rings, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 })
        .map((coordinates) => ({ type: "MultiPolygon", coordinates }));
    default:
      return strings;
  }
}

type Canonical = Record<string, unknown>;

function recordsOf(fields: Fields, version: GbfsVersion): Arbitrary<Canonical> {
  const given = currentFields(fields).filter(([name, field]) => {
    const old = fields[derived[name] ?? ""];
    return hasField(version, field) || (old !== undefined && hasField(version, old));
  });
  if (given.length === 0) return fc.constant({});
  const required = given.filter(([, field]) => field.required !== undefined).map(([name]) => name);
  const values = Object.fromEntries(given.map(([name, { type }]) => [name, valuesOf(type, version)]));
  return fc
    .record(values, { requiredKeys: required })
    .filter((record) => Object.keys(record).length > 0)
    .map((record) => (isAtLeast(version, "3.0") ? record : asOld(record)))
    .map((record) => JSON.parse(JSON.stringify(record)) as Canonical);
}

/** Fields that versions before 3.0 write under another name and meaning. */
const derived: Readonly<Record<string, string>> = {
  vehicle_types_capacity: "vehicle_capacity",
  vehicle_docks_capacity: "vehicle_type_capacity",
  vehicle_type_ids: "vehicle_type_id",
  ride_start_allowed: "ride_allowed",
  ride_end_allowed: "ride_allowed",
};

/** Reduces a record to what GBFS before 3.0 can express: one rule for the start and the end of a ride, and single types. */
function asOld(record: Canonical): Canonical {
  const counted = (name: string) => {
    const counts = record[name] as { vehicle_type_ids: string[]; count: number }[] | undefined;
    if (counts === undefined) return {};
    const alone = counts.flatMap(({ vehicle_type_ids: types, count }) => types.map((type) => [type, count] as const));
    const inOrder = Object.entries(Object.fromEntries(alone));
    return { [name]: inOrder.map(([type, count]) => ({ vehicle_type_ids: [type], count })) };
  };
  return {
    ...record,
    ...counted("vehicle_types_capacity"),
    ...counted("vehicle_docks_capacity"),
    ...("ride_start_allowed" in record && { ride_end_allowed: record["ride_start_allowed"] }),
  };
}

const languages = { wanted: LANGUAGE, main: LANGUAGE };
const cases = descriptiveFeeds.flatMap((feed) =>
  gbfsVersions.filter((version) => hasFeed(version, feed)).map((version) => [feed, version] as const),
);

describe("what was written in a version is read as it was", () => {
  test.each(cases)("%s in %s", (feed, version) => {
    const { fields, records }: GbfsFeed = gbfsFeeds[feed];
    const whole = recordsOf(fields, version).map((data) => {
      if (records === undefined) return data;
      const byId = new Map((data[records.list] as Canonical[]).map((record) => [String(record[records.id]), record]));
      return { [records.list]: [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record) };
    });
    fc.assert(
      fc.property(whole, (generated) => {
        const data = feed === "system_information" ? inItsLanguages(generated, version) : generated;
        const sent: unknown = JSON.parse(writeData(feed, data as FeedData<typeof feed>, version, languages));
        const read = readDescription(feed, { last_updated: NOW / 1000, data: sent }, NOW, LANGUAGE);
        const [list = ""] = Object.keys(fields);
        const kept: Readonly<Record<string, () => unknown>> = {
          system_information: () => data,
          geofencing_zones: () => ({
            ...data,
            geofencing_zones: undefined,
            ...(data[list] as object),
            type: undefined,
          }),
        };
        const expected = kept[feed]?.() ?? data[list];
        expect([read.problems, JSON.parse(read.json)]).toEqual([[], expected]);
        expect(read.notTaken).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });

  test.each(gbfsVersions)("the facts of stations and vehicles in %s", (version) => {
    const position = { lat: 1, lon: 2 };
    const station = { station_id: "s", name: [{ text: "S", language: LANGUAGE }], ...position };
    const flags = { is_reserved: false, is_disabled: false };
    const facts = (fields: readonly (readonly [string, Fields[string]])[]) =>
      fc.option(recordsOf(Object.fromEntries(fields), version), { nil: {} });
    fc.assert(
      fc.property(facts(stationFacts), facts(vehicleFacts), (ofStation, ofVehicle) => {
        const document = (data: string) => ({ last_updated: NOW / 1000, data: JSON.parse(data) as unknown });
        const stations = { stations: [{ ...station, ...ofStation }] } as FeedData<"station_information">;
        const vehicles = { vehicles: [{ vehicle_id: "v", ...position, ...flags, ...ofVehicle }] };
        const information = readStationInformation(
          document(writeData("station_information", stations, version, languages)),
          NOW,
          LANGUAGE,
        );
        const status = readVehicles(
          "vehicle_status",
          document(writeData("vehicle_status", vehicles as FeedData<"vehicle_status">, version, languages)),
          NOW,
        );
        const kept = [information.records.get("s"), status.records.get("v")].map((record) => record?.source_facts);
        expect(kept.map((json) => JSON.parse(json ?? "{}") as unknown)).toEqual([ofStation, ofVehicle]);
        expect([information, status].flatMap(({ problems, notTaken }) => [...problems, ...notTaken])).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

/** Returns a system whose `language` is the first of its `languages`. */
function inItsLanguages(system: Canonical, version: GbfsVersion): Canonical {
  const given = (system["languages"] ?? []) as string[];
  const listed = isAtLeast(version, "3.0") && given.length > 0 ? given : [LANGUAGE];
  return { ...system, language: listed[0], languages: listed };
}
