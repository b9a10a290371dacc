import { describe, expect, test } from "vitest";
import { systemDetails } from "../../city/systems/facts.rules.ts";
import {
  form23,
  form30,
  forms,
  stationStatus,
  systemInformation,
  systemRegions,
  vehicleStatus,
  vehicleTypes,
} from "./documents.ts";
import type { PublishedBike, PublishedStation } from "./queries.ts";
import { publish } from "./service.ts";

const at = new Date("2026-06-01T12:00:00.987Z");
const silent = {
  system_id: "oslo",
  name: null,
  language: null,
  timezone: null,
  feed_contact_email: null,
  opening_hours: null,
  operator: null,
  url: null,
  licence: null,
};
const system = systemDetails(silent, []);

const station = (fields: Partial<PublishedStation> = {}): PublishedStation => ({
  id: "s",
  name: "S",
  short_name: null,
  lat: 1,
  lon: 2,
  address: null,
  region_id: null,
  capacity: null,
  is_virtual_station: false,
  is_installed: true,
  is_renting: true,
  is_returning: true,
  counters: "operated",
  num_bikes_available: 3,
  num_bikes_reserved: 0,
  num_bikes_disabled: null,
  num_docks_available: null,
  num_docks_disabled: null,
  status: "online",
  last_reported: null,
  updated_at: at,
  vehicle_types_available: [],
  ...fields,
});
const bike = (fields: Partial<PublishedBike> = {}): PublishedBike => ({
  public_id: "v_1",
  vehicle_type_id: null,
  vehicle_state: "available",
  station_id: null,
  lat: 1,
  lon: 2,
  current_range_meters: null,
  last_reported: null,
  ...fields,
});
/** A document as it is sent. */
const sent = (document: object) => JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
const status = (fields: Partial<PublishedStation>) =>
  (sent(stationStatus(form30, [station(fields)])) as { stations: Record<string, unknown>[] }).stations[0];

describe("of a system", () => {
  test("2.3 leaves out an address that nobody gave; 3.0, which requires one, has one that reaches nobody", () => {
    expect(sent(systemInformation(form23, system))).toEqual({
      system_id: "oslo",
      language: "en",
      name: "oslo",
      timezone: "UTC",
    });
    expect(sent(systemInformation(form30, system))).toEqual({
      system_id: "oslo",
      languages: ["en"],
      name: [{ text: "oslo", language: "en" }],
      opening_hours: "24/7",
      feed_contact_email: "unknown@example.invalid",
      timezone: "UTC",
    });
  });

  test("says who runs it, where to read on, and under which licence, in the words of each version", () => {
    const warned = { ...silent, operator: "City Bikes", url: "https://bikes.example/", licence: "CC-BY-4.0" };
    expect(systemInformation(form23, systemDetails(warned, []))).toMatchObject({
      operator: "City Bikes",
      url: "https://bikes.example/",
      license_url: "https://spdx.org/licenses/CC-BY-4.0.html",
    });
    expect(systemInformation(form30, systemDetails(warned, []))).toMatchObject({
      operator: [{ text: "City Bikes", language: "en" }],
      url: "https://bikes.example/",
      license_id: "CC-BY-4.0",
    });
    const licence = "https://bikes.example/licence";
    for (const form of forms) {
      const document = sent(systemInformation(form, systemDetails({ ...warned, licence }, [])));
      expect(document).toMatchObject({ license_url: licence });
      expect(document).not.toHaveProperty("license_id");
    }
  });
});

describe("of a station", () => {
  test("flags and counts are the row's while it is online; else it lends and takes nothing", () => {
    expect(status({ is_returning: false })).toMatchObject({
      is_installed: true,
      is_renting: true,
      is_returning: false,
      num_vehicles_available: 3,
    });
    for (const state of ["offline", "planned"] as const) {
      expect(status({ status: state })).toMatchObject({ is_installed: true, is_renting: false, is_returning: false });
    }
  });

  test("free docks of the operator's are no more than its capacity leaves; a feed's are what the feed says", () => {
    const reported = { capacity: 10, num_bikes_reserved: 1, num_docks_disabled: 2, num_docks_available: 99 };
    expect(status(reported)).toMatchObject({ num_docks_available: 4 });
    expect(status({ ...reported, num_docks_available: 3 })).toMatchObject({ num_docks_available: 3 });
    expect(status({ ...reported, counters: "mirrored" })).toMatchObject({ num_docks_available: 99 });
  });

  test("what is not known is left out, never null", () => {
    expect(Object.keys(status({}) ?? {})).not.toContain("num_docks_available");
    expect(status({ num_docks_available: 0 })).toMatchObject({ num_docks_available: 0 });
  });

  test("vehicles whose type nobody said are counted as of an unspecified type, so that the types add up", () => {
    const types = (list: PublishedStation["vehicle_types_available"]) =>
      status({ vehicle_types_available: list })?.["vehicle_types_available"];
    expect(types([])).toEqual([{ vehicle_type_id: "unspecified", count: 3 }]);
    expect(types([{ vehicle_type_id: "e", count: 1 }])).toEqual([
      { vehicle_type_id: "e", count: 1 },
      { vehicle_type_id: "unspecified", count: 2 },
    ]);
    expect(types([{ vehicle_type_id: "unspecified", count: 1 }])).toEqual([
      { vehicle_type_id: "unspecified", count: 3 },
    ]);
    expect(
      types([
        { vehicle_type_id: "e", count: 2 },
        { vehicle_type_id: "f", count: 4 },
      ]),
    ).toEqual([
      { vehicle_type_id: "e", count: 2 },
      { vehicle_type_id: "f", count: 1 },
    ]);
  });

  test("a station that never reported, or long before GBFS, reported when its row was written", () => {
    for (const last_reported of [null, new Date(86_400_000)])
      expect(status({ last_reported })).toMatchObject({ last_reported: "2026-06-01T12:00:00Z" });
  });
});

test("2.3 writes POSIX seconds, 3.0 RFC 3339, neither with a fraction", () => {
  expect(vehicleStatus(form23, [bike({ last_reported: at })])).toMatchObject({
    bikes: [{ bike_id: "v_1", last_reported: at.getTime() / 1000 - 0.987 }],
  });
  expect(vehicleStatus(form30, [bike({ last_reported: at })])).toMatchObject({
    vehicles: [{ vehicle_id: "v_1", last_reported: "2026-06-01T12:00:00Z" }],
  });
});

test("a bike is reserved, disabled or neither, as its state says", () => {
  const flags = (vehicle_state: PublishedBike["vehicle_state"]) => vehicleStatus(form30, [bike({ vehicle_state })]);
  expect(flags("available")).toMatchObject({ vehicles: [{ is_reserved: false, is_disabled: false }] });
  expect(flags("reserved")).toMatchObject({ vehicles: [{ is_reserved: true, is_disabled: false }] });
  expect(flags("non_operational")).toMatchObject({ vehicles: [{ is_reserved: false, is_disabled: true }] });
});

test.each(forms)("$version: of a type that nobody described only what must be said is said", (form) => {
  const nothing = { name: null, form_factor: null, propulsion_type: null, max_range_meters: null };
  const electric = { ...nothing, id: "e", propulsion_type: "electric_assist" as const };
  expect(sent(vehicleTypes(form, system, [electric, { ...nothing, id: "x" }]))).toEqual({
    vehicle_types: [
      { vehicle_type_id: "e", form_factor: "bicycle", propulsion_type: "electric_assist", max_range_meters: 0 },
      { vehicle_type_id: "unspecified", form_factor: "bicycle", propulsion_type: "human" },
      { vehicle_type_id: "x", form_factor: "bicycle", propulsion_type: "human" },
    ],
  });
  expect(systemRegions(form, system, [{ id: "r", name: "R" }])).toMatchObject({ regions: [{ region_id: "r" }] });
  expect(systemRegions(form, system, [])).toBeUndefined();
});

test("last_updated stays while the content does, moves when it changes, and never goes back", () => {
  const digest = (text: string) => Buffer.from(text);
  const never = { digest: digest(""), last_updated: new Date(0), shares_second: false };
  const first = publish(never, digest("a"), at.getTime());
  expect(first).toMatchObject({ last_updated: new Date("2026-06-01T12:00:00Z"), shares_second: false });
  expect(publish(first, digest("a"), at.getTime() + 60_000)).toBe(first);
  expect(publish(first, digest("b"), at.getTime() + 10)).toMatchObject({
    last_updated: first.last_updated,
    shares_second: true,
  });
  expect(publish(first, digest("b"), at.getTime() - 60_000)).toMatchObject({
    last_updated: first.last_updated,
    shares_second: true,
  });
  expect(publish(first, digest("b"), at.getTime() + 1000)).toMatchObject({
    last_updated: new Date("2026-06-01T12:00:01Z"),
    shares_second: false,
  });
});
