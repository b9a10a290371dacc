import { type PublishedGbfsVersion, publishedGbfsVersions } from "@bikeshare/contract";
import { describe, expect, test } from "vitest";
import {
  type BikeFacts,
  type BikeInputs,
  type KnownSystem,
  type StationFacts,
  stationInformation,
  stationStatus,
  systemAlerts,
  systemCalendar,
  systemHours,
  systemInformation,
  systemPricingPlans,
  systemRegions,
  type TypeFacts,
  vehicleStatus,
  vehicleTypes,
} from "./documents.ts";
import type { PublishedBike, PublishedStation } from "./queries.ts";
import { publish } from "./service.ts";
import { type FeedData, writeData } from "./writer.ts";

const at = new Date("2026-06-01T12:00:00.987Z");
const systemWith = (facts: KnownSystem["facts"] = {}): KnownSystem => ({ id: "oslo", facts });
const system = systemWith();
const en = (text: string) => [{ text, language: "en" }];

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
  vehicle_docks_available: null,
  source_facts: null,
  ...fields,
});
const bike = (fields: Partial<PublishedBike> = {}): PublishedBike => ({
  id: "b",
  source: "operator",
  public_id: "v_1",
  vehicle_type_id: null,
  vehicle_state: "available",
  station_id: null,
  lat: 1,
  lon: 2,
  current_range_meters: null,
  source_facts: null,
  last_reported: null,
  ...fields,
});

type Item = Record<string, unknown>;
/** Returns a document as consumers receive it. */
const sent = <Feed extends Parameters<typeof writeData>[0]>(
  feed: Feed,
  data: FeedData<Feed>,
  version: PublishedGbfsVersion = "3.0",
  wanted = "en",
) => JSON.parse(writeData(feed, data, version, { wanted, main: "en" })) as Record<string, unknown>;
const of = (facts: StationFacts = {}, known: KnownSystem = system, fields: Partial<PublishedStation> = {}) => ({
  system: known,
  stations: [station(fields)],
  facts: new Map([["s", facts]]),
});
const status = (fields: Partial<PublishedStation>, facts: StationFacts = {}, known = system, now = at.getTime()) =>
  (sent("station_status", stationStatus(of(facts, known, fields), new Set(["e", "c"]), now)) as { stations: Item[] })
    .stations[0];
const information = (facts: StationFacts, known = system, version: PublishedGbfsVersion = "3.0", wanted = "en") => {
  const ids = { types: new Set(["e"]), regions: new Set(["north"]) };
  const data = stationInformation(of(facts, known, { region_id: "west" }), ids);
  return (sent("station_information", data, version, wanted) as { stations: Item[] }).stations[0];
};
const typesOf = (inputs: Parameters<typeof vehicleTypes>[0], version: PublishedGbfsVersion = "3.0") =>
  (sent("vehicle_types", vehicleTypes(inputs), version) as { vehicle_types: Item[] }).vehicle_types;
const vehicle = (
  fields: Partial<PublishedBike> = {},
  {
    facts = {},
    known = system,
    types = {},
    version = "3.0",
  }: {
    facts?: BikeFacts;
    known?: KnownSystem;
    types?: Record<string, TypeFacts>;
    version?: PublishedGbfsVersion;
  } = {},
) => {
  const inputs: BikeInputs = {
    system: known,
    bikes: [bike(fields)],
    facts: new Map([["b", facts]]),
    types: new Map(Object.entries(types)),
  };
  const data = vehicleStatus(inputs, { stations: new Set(["home"]), plans: new Set(["plan"]) });
  return Object.values(sent("vehicle_status", data, version) as Record<string, Item[]>)[0]?.[0];
};

describe("of a system", () => {
  test("2.3 leaves out an address that nobody gave; 3.0, which requires one, has one that reaches nobody", () => {
    const data = systemInformation(system, undefined);
    expect(sent("system_information", data, "2.3")).toEqual({
      system_id: "oslo",
      language: "en",
      name: "oslo",
      timezone: "UTC",
    });
    expect(sent("system_information", data)).toEqual({
      system_id: "oslo",
      languages: ["en"],
      name: en("oslo"),
      opening_hours: "24/7",
      feed_contact_email: "unknown@example.invalid",
      timezone: "UTC",
    });
  });

  test("its licence is an identifier or an address, in the words of each version", () => {
    const named = systemInformation(systemWith({ licence: "CC-BY-4.0" }), undefined);
    expect(sent("system_information", named, "2.3")).toMatchObject({
      license_url: "https://spdx.org/licenses/CC-BY-4.0.html",
    });
    expect(sent("system_information", named)).toMatchObject({ license_id: "CC-BY-4.0" });
    const licence = "https://bikes.example/licence";
    for (const version of publishedGbfsVersions) {
      const document = sent("system_information", systemInformation(systemWith({ licence }), undefined), version);
      expect(document).toMatchObject({ license_url: licence });
      expect(document).not.toHaveProperty("license_id");
    }
  });

  test("2.3 has one text, in the language that is asked for, else in the main one; 3.0 has all of them", () => {
    const known = systemWith({
      language: "en",
      name: [...en("City"), { text: "Byen", language: "nb" }],
      operator: en("Bikes"),
    });
    const data = systemInformation(known, undefined);
    expect(sent("system_information", data, "2.3", "nb")).toMatchObject({
      language: "nb",
      name: "Byen",
      operator: "Bikes",
    });
    expect(sent("system_information", data)).toMatchObject({ languages: ["en", "nb"], operator: en("Bikes") });
  });

  test("the address of its terms needs the day of their last change", () => {
    const terms_url = en("https://bikes.example/terms");
    const document = (facts: KnownSystem["facts"]) =>
      sent("system_information", systemInformation(systemWith(facts), undefined));
    expect(document({ terms_url })).not.toHaveProperty("terms_url");
    expect(document({ terms_url, terms_last_updated: "2026-01-01" })).toMatchObject({ terms_url });
  });

  test("2.3 has its hours and its season as far as it can express them, and nothing where nobody said any", () => {
    expect(systemHours(system)).toBeUndefined();
    const seasonal = systemWith({ opening_hours: "Apr-Oct Mo-Su 06:00-24:00" });
    expect(systemHours(seasonal)).toMatchObject({
      rental_hours: [{ start_time: "06:00:00", end_time: "23:59:59" }],
    });
    expect(systemCalendar(seasonal)).toEqual({
      calendars: [{ start_month: 4, start_day: 1, end_month: 10, end_day: 31 }],
    });
    expect(systemHours(systemWith({ opening_hours: "sunrise-sunset" }))).toBeUndefined();
    expect(systemCalendar(systemWith({ opening_hours: "24/7" }))).toBeUndefined();
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

  test("free docks by type are those of a feed, of published types, each named once", () => {
    const docks = [
      { vehicle_type_ids: ["e", "gone"], count: 4 },
      { vehicle_type_ids: ["gone"], count: 1 },
    ];
    const mirrored = { counters: "mirrored", vehicle_docks_available: docks } as const;
    expect(status(mirrored)).toMatchObject({ vehicle_docks_available: [{ vehicle_type_ids: ["e"], count: 4 }] });
    const twice = [...docks, { vehicle_type_ids: ["c", "e"], count: 2 }];
    const each = [
      { vehicle_type_ids: ["e"], count: 6 },
      { vehicle_type_ids: ["c"], count: 2 },
    ];
    expect(status({ ...mirrored, vehicle_docks_available: twice })).toMatchObject({ vehicle_docks_available: each });
    expect(status({ ...mirrored, counters: "operated" })).not.toHaveProperty("vehicle_docks_available");
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

  test("it lends nothing outside its hours, or those of the system, by the clock of the city; its bikes are counted", () => {
    const oslo = systemWith({ timezone: "Europe/Oslo", opening_hours: "06:00-22:00" });
    const renting = (time: string, facts: StationFacts = {}) => status({}, facts, oslo, Date.parse(time));
    // Summer time begins on 29 March, so the instant in UTC is an hour earlier.
    expect(renting("2026-03-28T04:30:00Z")).toMatchObject({ is_renting: false, is_returning: true });
    expect(renting("2026-03-29T04:30:00Z")).toMatchObject({ is_renting: true });
    expect(renting("2026-03-29T20:30:00Z")).toMatchObject({ is_renting: false, num_vehicles_available: 3 });
    expect(renting("2026-03-29T20:30:00Z", { station_opening_hours: "24/7" })).toMatchObject({ is_renting: true });
    expect(renting("2026-03-29T12:30:00Z", { station_opening_hours: "Sa off" })).toMatchObject({ is_renting: true });
    expect(renting("2026-03-29T12:30:00Z", { station_opening_hours: "24/7; Su off" })).toMatchObject({
      is_renting: false,
    });
  });

  test("regions and types that are not published are not named", () => {
    const counts = [
      { vehicle_type_ids: ["e", "x"], count: 4 },
      { vehicle_type_ids: ["x"], count: 2 },
    ];
    const facts = { vehicle_types_capacity: counts, vehicle_docks_capacity: [{ vehicle_type_ids: ["x"], count: 2 }] };
    const found = information(facts);
    expect(found).toMatchObject({ vehicle_types_capacity: [{ vehicle_type_ids: ["e"], count: 4 }] });
    expect(Object.keys(found ?? {})).not.toEqual(expect.arrayContaining(["region_id"]));
    expect(found).not.toHaveProperty("vehicle_docks_capacity");
    expect(information(facts, system, "2.3")).toMatchObject({ vehicle_capacity: { e: 4 } });
  });

  test("its links are its own, else those of the system's templates, which lead into apps that one can get", () => {
    const store = { store_uri: "https://store.example", discovery_uri: "bikes://" };
    const known = systemWith({
      station_links: { web: "https://bikes.example/s/{station_id}", ios: "bikes://s/{station_id}", android: "a://x" },
      rental_apps: { ios: store },
    });
    expect(information({}, known)).toMatchObject({
      rental_uris: { web: "https://bikes.example/s/s", ios: "bikes://s/s" },
    });
    expect(
      information({ rental_uris: { web: "https://own.example", android: "a://y" } }, known)?.["rental_uris"],
    ).toEqual({ web: "https://own.example", ios: "bikes://s/s", android: "a://y" });
    expect(information({ rental_uris: { android: "a://y" } })).toMatchObject({ rental_uris: { android: "a://y" } });
  });
});

test("2.3 writes POSIX seconds, 3.0 RFC 3339, neither with a fraction", () => {
  expect(vehicle({ last_reported: at }, { version: "2.3" })).toMatchObject({
    bike_id: "v_1",
    last_reported: at.getTime() / 1000 - 0.987,
  });
  expect(vehicle({ last_reported: at })).toMatchObject({ vehicle_id: "v_1", last_reported: "2026-06-01T12:00:00Z" });
});

describe("of a bike", () => {
  test("it is reserved, disabled or neither, as its state says", () => {
    expect(vehicle()).toMatchObject({ is_reserved: false, is_disabled: false });
    expect(vehicle({ vehicle_state: "reserved" })).toMatchObject({ is_reserved: true, is_disabled: false });
    expect(vehicle({ vehicle_state: "non_operational" })).toMatchObject({ is_reserved: false, is_disabled: true });
  });

  test("with a motor it has a range: what is known, else by its fuel, else 0; others have what is known", () => {
    const types = { e: { propulsion_type: "electric_assist", max_range_meters: 60_000 } } as const;
    const range = (fields: Partial<PublishedBike>, facts: BikeFacts = {}) =>
      vehicle({ vehicle_type_id: "e", ...fields }, { facts, types })?.["current_range_meters"];
    expect(range({ current_range_meters: 1234 }, { current_fuel_percent: 0.5 })).toBe(1234);
    expect(range({}, { current_fuel_percent: 0.333 })).toBe(19_980);
    expect(range({})).toBe(0);
    expect(range({ vehicle_type_id: null })).toBeUndefined();
    expect(range({ vehicle_type_id: null, current_range_meters: 5 })).toBe(5);
  });

  test("homes and plans that are not published are not named", () => {
    expect(vehicle({}, { facts: { home_station_id: "home", pricing_plan_id: "plan" } })).toMatchObject({
      home_station_id: "home",
      pricing_plan_id: "plan",
    });
    const unknown = vehicle({}, { facts: { home_station_id: "x", pricing_plan_id: "x" } });
    expect(Object.keys(unknown ?? {}).filter((name) => /home|plan/.test(name))).toEqual([]);
  });

  test("its links hold its public id, or are the feed's while it is the feed's, and never its own id", () => {
    const known = systemWith({ vehicle_links: { web: "https://bikes.example/v?id={vehicle_id}" } });
    const facts = { rental_uris: { web: "https://feed.example/b" } };
    const links = (source: string) => vehicle({ source, public_id: "v&1" }, { known, facts })?.["rental_uris"];
    expect(links("operator")).toEqual({ web: "https://bikes.example/v?id=v%261" });
    expect(links("feed")).toEqual({ web: "https://feed.example/b" });
  });
});

describe("of types, regions and plans", () => {
  const none = {
    ...{ types: [], plans: new Set<string>(), uses: new Map<string, never>() },
    ...{ hasStations: false, hasUntypedCounts: false },
  };

  test.each(publishedGbfsVersions)("%s: of a type that nobody described only what must be said is said", (version) => {
    const types = [
      { id: "e", facts: { propulsion_type: "electric_assist" } as const },
      { id: "x", facts: {} },
    ];
    const usual = { form_factor: "bicycle", return_constraint: "free_floating" };
    expect(sent("vehicle_types", vehicleTypes({ ...none, types }), version)).toEqual({
      vehicle_types: [
        { ...usual, vehicle_type_id: "e", propulsion_type: "electric_assist", max_range_meters: 0 },
        { ...usual, vehicle_type_id: "x", propulsion_type: "human" },
      ],
    });
    const regions = systemRegions(system, [{ id: "r", facts: {} }]);
    expect(regions && sent("system_regions", regions, version)).toMatchObject({
      regions: [{ region_id: "r", name: version === "2.3" ? "r" : en("r") }],
    });
    expect(systemRegions(system, [])).toBeUndefined();
    expect(systemPricingPlans([])).toBeUndefined();
  });

  test("the type of vehicles without one is listed while there are such", () => {
    const types = [{ id: "e", facts: {} }];
    const ids = (inputs: object) => typesOf({ ...none, types, ...inputs }).map((type) => type["vehicle_type_id"]);
    expect(ids({})).toEqual(["e"]);
    expect(ids({ hasUntypedCounts: true })).toEqual(["e", "unspecified"]);
    expect(ids({ uses: new Map([["unspecified", { at_stations: 1, elsewhere: 0 }]]) })).toEqual(["e", "unspecified"]);
    const named = [...types, { id: "unspecified", facts: {} }];
    expect(ids({ types: named, hasUntypedCounts: true })).toEqual(["e", "unspecified"]);
  });

  test("vehicles are returned to stations where they stand at them, but for a few", () => {
    const returns = (at_stations: number, elsewhere: number, facts: TypeFacts = {}, hasStations = true) =>
      typesOf({
        ...none,
        types: [{ id: "e", facts }],
        uses: new Map([["e", { at_stations, elsewhere }]]),
        hasStations,
      })[0]?.["return_constraint"];
    expect(returns(0, 0)).toBe("any_station");
    expect(returns(95, 5)).toBe("any_station");
    expect(returns(50, 50)).toBe("hybrid");
    expect(returns(5, 95)).toBe("free_floating");
    expect(returns(0, 95, {}, false)).toBe("free_floating");
    expect(returns(0, 95, { return_constraint: "roundtrip_station" })).toBe("roundtrip_station");
  });

  test("plans that there are not are not named, and none is chosen for a type", () => {
    const facts = { default_pricing_plan_id: "gone", pricing_plan_ids: ["gone", "day"] };
    const types = [{ id: "e", facts }];
    const [type] = typesOf({ ...none, types, plans: new Set(["day"]) });
    expect(type).toMatchObject({ pricing_plan_ids: ["day"] });
    expect(type).not.toHaveProperty("default_pricing_plan_id");
  });

  test("2.3 has the eco label under its old name", () => {
    const eco_labels = [{ country_code: "DE", eco_sticker: "4" }];
    const types = vehicleTypes({ ...none, types: [{ id: "e", facts: { eco_labels } }] });
    expect(sent("vehicle_types", types, "2.3")).toMatchObject({ vehicle_types: [{ eco_label: eco_labels }] });
    expect(sent("vehicle_types", types)).toMatchObject({ vehicle_types: [{ eco_labels }] });
  });
});

test("an alert names published stations and regions, and one of none of them is not published", () => {
  const alert = { alert_id: "a", type: "station_closure", summary: en("Closed") } as const;
  const ids = { stations: new Set(["s"]), regions: new Set<string>() };
  const alerts = systemAlerts([alert, { ...alert, station_ids: ["s", "x"] }, { ...alert, region_ids: ["x"] }], ids);
  expect(sent("system_alerts", alerts)).toEqual({ alerts: [alert, { ...alert, station_ids: ["s"] }] });
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
