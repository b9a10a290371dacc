import type { Bike, Ride, Station } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "./rows.ts";
import { compareBytes, refused, slice, walkByCursor, walkByPage, withQuery } from "./walk.ts";

const day = (index: number) =>
  new Date(Date.parse("2026-02-27T00:00:00.000Z") + index * 6 * 3_600_000 + (index % 3)).toISOString();

let app: TestApp;
const rows = makeRows();

beforeAll(async () => {
  app = await startTestApp();
  const write = rowWriter(app);
  await write.stations(rows.stations);
  await write.bikes(rows.bikes);
  await write.rides(rows.rides);
});

afterAll(() => app.close());

/** Creates rows of which every filter matches some but not all. Some values are exactly at the limits of ranges. */
function makeRows() {
  const pick = <Value>(values: readonly Value[], index: number): Value => values[index % values.length]!;
  const stations = Array.from({ length: 60 }, (_, index) =>
    stationRow({
      id: `s${index}`,
      status: pick(["online", "offline", "planned", "removed"], index * 7),
      region_id: pick([null, "north", "süd", "a,b"], index),
      lat: pick([-90, -45.5, 0, 45.5, 90], index),
      lon: pick([-180, -179.5, -10, 0, 10, 179.5, 180], index),
      updated_at: pick([0, 1, 2, 3, 4].map(day), index),
    }),
  );
  const bikes = Array.from({ length: 60 }, (_, index) => {
    const state = pick(["available", "reserved", "on_trip", "non_operational", "missing"] as const, index);
    const standing =
      state === "on_trip"
        ? { station_id: null, lat: null, lon: null }
        : {
            station_id: pick([null, "s1", "s2"], index),
            lat: pick([-90, -45.5, 0, 45.5, 90, null], Math.floor(index / 2)),
            lon: pick([-180, -179.5, -10, 0, 10, 179.5, 180], index),
          };
    return bikeRow({
      id: `b${index}`,
      vehicle_state: state,
      ...standing,
      updated_at: pick([0, 1, 2, 3].map(day), index),
    });
  });
  const rides = Array.from({ length: 120 }, (_, index) => {
    const status = pick(["completed", "completed", "started", "cancelled", "completed"] as const, index);
    return rideRow({
      id: `r${index}`,
      status,
      bike_id: status === "started" ? `alone ${index}` : pick(["b1", "b2", "b3"], index),
      start_station_id: pick([null, "s1", "s2", "s3"], index),
      end_station_id: pick([null, "s1", "s2", "s3", "s1"], Math.floor(index / 4)),
      started_at: pick([0, 1, 2, 3, 4, 5, 6].map(day), index),
      ...(status === "started" ? { ended_at: null, duration_seconds: null, is_countable: null } : {}),
      updated_at: pick([0, 1, 2, 3, 4].map(day), index * 3),
    });
  });
  return { stations, bikes, rides };
}

/** Draws an instant equal or close to those of the rows, in one of the notations of RFC 3339, with its value. */
const instant = fc
  .record({
    index: fc.integer({ min: -1, max: 8 }),
    shift: fc.constantFrom(-1, 0, 1),
    offset: fc.constantFrom(0, 60, -150, 825),
    fine: fc.boolean(),
  })
  .map(({ index, shift, offset, fine }) => {
    const at = Date.parse(day(Math.max(0, index))) + shift;
    if (offset === 0 && fine) return { at: at + 0.5, text: `${new Date(at).toISOString().slice(0, -1)}500Z` };
    if (offset === 0) return { at, text: new Date(at).toISOString() };
    const size = Math.abs(offset);
    const suffix = `${offset > 0 ? "+" : "-"}${String(Math.floor(size / 60)).padStart(2, "0")}:${String(size % 60).padStart(2, "0")}`;
    return { at, text: new Date(at + offset * 60_000).toISOString().replace("Z", suffix) };
  });

/** The text of a filter in the query, and a function that tells whether a row matches. */
interface Filter<Row> {
  readonly text: string;
  readonly passes: (row: Row) => boolean;
}

const since = <Row extends { updated_at: string }>() =>
  instant.map(({ at, text }): Filter<Row> => ({ text, passes: (row) => Date.parse(row.updated_at) >= at }));
const equal = <Row>(field: keyof Row, ...values: string[]) =>
  fc.constantFrom(...values).map((text): Filter<Row> => ({ text, passes: (row) => row[field] === text }));

/** The position of an item. A bike on a ride has none. */
type Located = Pick<Bike, "lat" | "lon">;

const bbox = fc
  .record({
    west: fc.constantFrom(-180, -179.5, -10, 0, 170, 179.5, 180),
    east: fc.constantFrom(-180, -179.5, -10, 0, 10.0, 180),
    south: fc.constantFrom(-90, -45.5, 0, 45.5),
    height: fc.constantFrom(0, 1, 45.5, 90),
  })
  .map(({ west, east, south, height }): Filter<Located> => {
    const north = Math.min(90, south + height);
    return {
      text: `${west},${south},${east},${north}`,
      passes: ({ lat, lon }) =>
        lat !== null &&
        lon !== null &&
        lat >= south &&
        lat <= north &&
        (west <= east ? lon >= west && lon <= east : lon >= west || lon <= east),
    };
  });

const stationFilters = {
  status: equal<Station>("status", "online", "offline", "planned", "removed"),
  region_id: equal<Station>("region_id", "north", "süd", "a,b", "no such", "null"),
  bbox,
  updated_since: since<Station>(),
};
const bikeFilters = {
  vehicle_state: equal<Bike>("vehicle_state", "available", "reserved", "on_trip", "removed"),
  station_id: equal<Bike>("station_id", "s1", "s2", "s3"),
  bbox,
  updated_since: since<Bike>(),
};
const rideFilters = {
  status: equal<Ride>("status", "started", "completed", "cancelled"),
  bike_id: equal<Ride>("bike_id", "b1", "b2", "alone 2", "none"),
  station_id: fc.constantFrom("s1", "s2", "s3", "s4").map((text): Filter<Ride> => ({
    text,
    passes: (ride) => ride.start_station_id === text || ride.end_station_id === text,
  })),
  started_after: instant.map(({ at, text }): Filter<Ride> => ({
    text,
    passes: (ride) => Date.parse(ride.started_at) >= at,
  })),
  started_before: instant.map(({ at, text }): Filter<Ride> => ({
    text,
    passes: (ride) => Date.parse(ride.started_at) < at,
  })),
  updated_since: since<Ride>(),
};

/** Compares a list with any combination of its filters with the same filters applied to the rows in memory. */
function checkAgainst<Row extends { readonly id: string }>(
  path: string,
  filters: Record<string, fc.Arbitrary<Filter<Row>>>,
  all: readonly Row[],
): Promise<void> {
  // Few filters at once, because many together match nothing.
  const chosen = fc
    .subarray(Object.keys(filters), { maxLength: 3 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, filters[name]!]))));
  return fc.assert(
    fc.asyncProperty(chosen, fc.integer({ min: 1, max: 60 }), fc.nat(), async (given, limit, anyPage) => {
      const texts = Object.fromEntries(Object.entries(given).map(([name, filter]) => [name, filter.text]));
      const expected = all.filter((row) => Object.values(given).every((filter) => filter.passes(row)));
      const url = withQuery(path, texts);
      const pages = Math.max(1, Math.ceil(expected.length / limit));
      const first = await slice(app, withQuery(url, { limit }));
      expect(first.total_pages).toBe(pages);
      expect(first.data).toEqual(expected.slice(0, limit));
      const page = (anyPage % pages) + 1;
      expect(await slice(app, withQuery(url, { limit, page }))).toEqual({
        data: expected.slice((page - 1) * limit, page * limit),
        page,
        total_pages: pages,
      });
      expect(await refused(app, withQuery(url, { limit, page: pages + 1 }))).toMatchObject({
        status: 400,
        error: "page_out_of_range",
      });
      if (limit > 5) {
        expect(await walkByCursor(app, url, limit)).toEqual(expected);
        expect(await walkByPage(app, url, limit)).toEqual(expected);
      }
    }),
    { numRuns: randomRuns(15) },
  );
}

describe("filters give what the same filters over the rows in memory give, by page, by cursor and in total", () => {
  it("of stations", () =>
    checkAgainst(
      "/v1/stations",
      stationFilters,
      rows.stations.toSorted((a, b) => compareBytes(a.id, b.id)),
    ));
  it("of bikes", () =>
    checkAgainst(
      "/v1/bikes",
      bikeFilters,
      rows.bikes.toSorted((a, b) => compareBytes(a.id, b.id)),
    ));
  it("of rides", () =>
    checkAgainst(
      "/v1/rides",
      rideFilters,
      rows.rides.toSorted((a, b) => -compareBytes(a.started_at, b.started_at) || -compareBytes(a.id, b.id)),
    ));
});

describe("a filter", () => {
  it.each([
    ["/v1/stations", "status", "lost"],
    ["/v1/stations", "status", ""],
    ["/v1/stations", "region_id", ""],
    ["/v1/stations", "bbox", "1,2,3"],
    ["/v1/stations", "bbox", "1,2,3,4,5"],
    ["/v1/stations", "bbox", "0,10,0,-10"],
    ["/v1/stations", "bbox", "-181,0,0,0"],
    ["/v1/stations", "bbox", "0,-91,0,0"],
    ["/v1/stations", "bbox", "a,b,c,d"],
    ["/v1/stations", "bbox", "NaN,0,0,0"],
    ["/v1/stations", "updated_since", "yesterday"],
    ["/v1/stations", "updated_since", "2026-02-30T00:00:00Z"],
    ["/v1/stations", "updated_since", "2026-01-01"],
    ["/v1/stations", "updated_since", "2026-01-01T00:00:00"],
    ["/v1/stations", "updated_since", "2026-01-01T00:00:00 01:00"],
    ["/v1/stations", "updated_since", "0000-01-01T00:00:00Z"],
    ["/v1/stations", "updated_since", "2026-01-01T00:00:00+99:99"],
    ["/v1/bikes", "bbox", "8,48,9,47"],
    ["/v1/bikes", "vehicle_state", "flying"],
    ["/v1/bikes", "station_id", "x".repeat(256)],
    ["/v1/bikes", "station_id", "a\0b"],
    ["/v1/rides", "status", "completed,started"],
    ["/v1/rides", "bike_id", ""],
    ["/v1/rides", "started_after", "1700000000"],
    ["/v1/rides", "started_before", ""],
  ])("with a value that it does not take is refused and named: %s?%s=%j", async (path, name, value) => {
    const answer = await refused(app, withQuery(path, { [name]: value }));
    expect(answer).toMatchObject({ status: 400, error: "invalid_parameter" });
    expect(answer.message).toContain(`${name} must`);
  });

  it("takes values that would break out of SQL or JSON as the text they are", async () => {
    for (const value of ["'", `' or '1'='1`, `";--`, "\\", "$1", "%", "😀", "\n", "' union select null --"]) {
      expect(await slice(app, withQuery("/v1/rides", { bike_id: value }))).toEqual({
        data: [],
        page: 1,
        total_pages: 1,
      });
    }
  });

  it("takes instants to the year 9999 and from the year 1", async () => {
    expect(
      (await slice(app, "/v1/rides?started_after=0001-01-01T00:00:00Z&started_before=9999-12-31T23:59:59.999Z"))
        .total_pages,
    ).toBe(3);
  });
});
