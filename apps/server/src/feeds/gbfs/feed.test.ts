import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { city10, city23, city3, CITY_TIME } from "../../../test/gbfs/city.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./documents.ts";
import { FeedFailure } from "./problems.ts";

const now = CITY_TIME + 1000;
const seconds = CITY_TIME / 1000;
const good = { station_id: "a", num_bikes_available: 1, is_installed: 1, is_renting: 1, is_returning: 1 };
const status = (...stations: unknown[]) => readStationStatus({ last_updated: seconds, data: { stations } }, now);
const information = (...stations: unknown[]) =>
  readStationInformation({ last_updated: seconds, data: { stations } }, now);
const vehicles = (...bikes: unknown[]) =>
  readVehicles("free_bike_status", { last_updated: seconds, data: { bikes } }, now);
const issues = (feed: { problems: readonly { field: string | null; reason: string; action: string }[] }) =>
  feed.problems.map(({ field, reason, action }) => [field, reason, action]);

test("every version of the same city reads the same, without a remark", () => {
  const read = (documents: Record<string, unknown>) => [
    readStationInformation(documents["station_information"], now),
    readStationStatus(documents["station_status"], now),
    readVehicles("x", documents["vehicle_status"] ?? documents["free_bike_status"], now),
  ];
  const names = '{"name":[{"text":"Havn","language":"no"},{"text":"Harbour","language":"en"}]}';
  for (const version of ["3.0", "3.1"] as const) {
    const [described, ...rest] = read(city3(version));
    const harbour = described?.records.get("harbour");
    expect(harbour).toMatchObject({ name: "Harbour", source_facts: names });
    // Ignores the facts, which contain the name in several languages in GBFS 3.x only.
    const inOne = [...(described?.records ?? [])].map(
      ([id, record]) => [id, { ...record, source_facts: null }] as const,
    );
    expect([{ ...described, records: new Map(inOne) }, ...rest]).toEqual(read(city23()));
  }
  const [oldInformation, oldStatus, oldBikes] = read(city10());
  const [newInformation, newStatus] = read(city23());
  expect(oldInformation).toEqual(newInformation);
  expect(oldBikes?.records.size).toBe(3);
  const harbour = newStatus?.records.get("harbour");
  expect(harbour).toMatchObject({
    vehicle_types_available: '[{"vehicle_type_id":"bike","count":3},{"vehicle_type_id":"ebike","count":0}]',
  });
  expect(oldStatus?.records.get("harbour")).toEqual({ ...harbour, vehicle_types_available: "[]" });
  for (const feed of [...read(city10()), ...read(city23()), ...read(city3("3.1"))]) expect(feed.problems).toEqual([]);
});

describe("what is wrong is repaired or rejected, and said", () => {
  test("a station without a usable id is rejected and the rest kept", () => {
    const feed = status(good, { ...good, station_id: null }, { ...good, station_id: "" }, 7, null);
    expect([...feed.records.keys()]).toEqual(["a"]);
    expect(feed.rejections).toBe(4);
  });

  test("of two records with the same id the last wins", () => {
    const feed = status(good, { ...good, num_bikes_available: 2 });
    expect(feed.records.get("a")?.num_bikes_available).toBe(2);
    expect(issues(feed)).toEqual([["station_id", "same_id_again_later", "rejected"]]);
  });

  test.each([
    ["num_bikes_available", -1, 0, "negative"],
    ["num_bikes_available", 1e12, 0, "too_large"],
    ["num_bikes_available", null, 0, "missing"],
    ["num_docks_available", -2, 0, "negative"],
    ["num_docks_available", "many", null, "not_a_number"],
    ["num_docks_available", 2.5, 2, "not_whole"],
    ["is_renting", "perhaps", true, "not_a_boolean"],
    ["last_reported", seconds + 86_400, null, "in_the_future"],
    ["last_reported", 86_400, null, "before_2000"],
    ["last_reported", "soon", null, "not_an_instant"],
    ["vehicle_types_available", [{ vehicle_type_id: "1" }, null], "[]", "unreadable_items"],
  ] as const)("%s %j becomes %j", (field, value, repaired, reason) => {
    const feed = status({ ...good, [field]: value });
    expect(feed.records.get("a")?.[field]).toBe(repaired);
    expect(issues(feed)).toEqual([[field, reason, "repaired"]]);
  });

  test("a station has at least as many bikes as its types add up to, and no more types than an integer can count", () => {
    const types = (...counts: number[]) => counts.map((count, n) => ({ vehicle_type_id: String(n), count }));
    const read = (fields: object) => {
      const feed = status({ ...good, ...fields });
      return [feed.records.get("a")?.num_bikes_available, ...issues(feed)];
    };
    // Lyft does not count scooters among the bikes: 2 bikes, and 13 scooters that are counted only by type.
    expect(read({ num_bikes_available: 2, vehicle_types_available: types(1, 1, 13) })).toEqual([
      15,
      ["num_bikes_available", "fewer_than_types", "repaired"],
    ]);
    expect(read({ num_bikes_available: 15, vehicle_types_available: types(1, 1) })).toEqual([15]);
    expect(
      read({ num_bikes_available: undefined, num_vehicles_available: 1, vehicle_types_available: types(2) }),
    ).toEqual([2, ["num_vehicles_available", "fewer_than_types", "repaired"]]);
    expect(read({ vehicle_types_available: types(2_000_000_000, 2_000_000_000) })).toEqual([
      1,
      ["vehicle_types_available", "too_large", "repaired"],
    ]);
  });

  test("a last_reported a few seconds ahead of our clock is normal", () => {
    expect(status({ ...good, last_reported: seconds + 20 })).toMatchObject({ problems: [] });
    expect(status({ ...good, last_reported: seconds + 20 }).records.get("a")?.last_reported).toBe(CITY_TIME + 20_000);
  });

  test("numbers may be texts, unknown fields and prices are ignored, capacity need not add up", () => {
    const feed = information({
      station_id: "a",
      name: "A",
      lat: "59.9",
      lon: "10.7",
      capacity: "3",
      price: "1.50",
      extra: {},
    });
    expect(feed).toMatchObject({ problems: [] });
    expect(feed.records.get("a")).toMatchObject({ lat: 59.9, lon: 10.7, capacity: 3 });
  });

  test.each([
    [91, 0],
    [0, 181],
    [0, 0],
    [null, null],
    ["north", 3],
  ])("a station at %j, %j is rejected", (lat, lon) => {
    const feed = information({ station_id: "a", name: "A", lat: 1, lon: 1 }, { station_id: "b", name: "B", lat, lon });
    expect([...feed.records.keys()]).toEqual(["a"]);
    expect([...feed.rejected]).toEqual(["b"]);
  });

  test("a station without a name is called by its id", () => {
    const feed = information({ station_id: "a", name: null, lat: 1, lon: 1 });
    expect(feed.records.get("a")?.name).toBe("a");
    expect(issues(feed)).toEqual([["name", "missing", "repaired"]]);
  });

  test("a vehicle with a wrong place is rejected, unless its station says where it is", () => {
    const wrong = { lat: 0, lon: 0, is_reserved: 0, is_disabled: 0 };
    const feed = vehicles(
      { bike_id: "a", lat: 1, lon: 1, is_reserved: 0, is_disabled: 0 },
      { ...wrong, bike_id: "b" },
      { ...wrong, bike_id: "c", station_id: "s" },
    );
    expect([...feed.records.keys()]).toEqual(["a", "c"]);
    expect([...feed.rejected]).toEqual(["b"]);
    expect(feed.records.get("c")?.position).toBeUndefined();
  });

  test.each([undefined, "yesterday", seconds + 86_400])("a last_updated of %j counts as now", (last_updated) => {
    const feed = readStationStatus({ last_updated, data: { stations: [good] } }, now);
    expect(feed.at).toBe(now);
    expect(feed.problems).toHaveLength(1);
  });
});

test.each([
  null,
  5,
  [],
  {},
  { data: null },
  { data: {} },
  { data: { stations: {} } },
  { data: { stations: [] } },
  { data: { stations: [null] } },
])("%j is not a snapshot", (document) => {
  expect(() => readStationStatus(document, now)).toThrow(FeedFailure);
  expect(() => readStationInformation(document, now)).toThrow(FeedFailure);
  expect(() => readVehicles("vehicle_status", document, now)).toThrow(FeedFailure);
});

test("whatever is in some records, the good ones are all read as they are", () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, Number.NaN, 1e300, -1, "\0", "\ud800", [], {}));
  const fields = [
    "station_id",
    "bike_id",
    "name",
    "lat",
    "lon",
    "capacity",
    "is_installed",
    "is_renting",
    "num_bikes_available",
    "num_docks_available",
    "vehicle_types_available",
    "last_reported",
    "current_range_meters",
    "region_id",
    "station_id",
  ];
  const corrupt = fc.oneof(value, fc.dictionary(fc.constantFrom(...fields), value));
  fc.assert(
    fc.property(fc.array(corrupt), fc.array(corrupt), (before, after) => {
      const record = {
        ...good,
        station_id: "the good one",
        bike_id: "the good one",
        lat: 1,
        lon: 2,
        name: "N",
        is_reserved: 0,
        is_disabled: 0,
      };
      for (const read of [status, information, vehicles]) {
        const alone = read(record).records.get("the good one");
        expect(read(...before, record, ...after).records.get("the good one")).toEqual(alone);
      }
    }),
    { numRuns: 300, seed: 1 },
  );
});

test("of a feed's problems ten thousand are kept and the others counted; a feed of too many records is not read", () => {
  const feed = status(good, ...Array.from({ length: 10_500 }, () => ({})));
  expect([feed.problems.length, feed.problems.at(-1), feed.rejections]).toMatchObject([
    10_001,
    { reason: "more_problems", value: 500 },
    10_500,
  ]);
  const stations = Array.from({ length: 200_001 }, () => 0);
  expect(() => readStationStatus({ data: { stations } }, now)).toThrow("it has more than 20,000 records");
});

test("a string that would fill every page is cut", () => {
  const feed = information({ station_id: "a", name: "x".repeat(100_000), lat: 1, lon: 1 });
  expect(feed.records.get("a")?.name).toHaveLength(2_000);
  expect(feed.problems.map(({ field, reason }) => [field, reason])).toEqual([["name", "too_long"]]);
});
