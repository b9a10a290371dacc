import { createHash } from "node:crypto";
import { readFile, symlink } from "node:fs/promises";
import { MIN_FLOW_RIDES, type Ride } from "@bikeshare/contract";
import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase } from "../../../test/database.ts";
import { type ExportHarness, openExportHarness, TIME_ZONE } from "../../../test/exports/export.harness.ts";
import { rideRow } from "../../../test/rows.ts";
import { openTripImportHarness } from "../../../test/trips/trip-import.harness.ts";
import { openTimeZone } from "../trips/trip-times.rules.ts";

let harness: ExportHarness;
beforeAll(async () => {
  harness = await openExportHarness();
});
afterAll(() => harness.close());
beforeEach(() => harness.clear());

const HOUR_MS = 3_600_000;
/** Midnight of the first of October in Oslo. */
const FROM = Date.parse("2026-09-30T22:00:00.000Z");
/** Midnight of the first of November; clocks were put back on the 25th. */
const TO = Date.parse("2026-10-31T23:00:00.000Z");

function ride(id: string, startedAt: number, fields: Partial<Ride> = {}): Ride {
  return rideRow({
    ...{ id, started_at: new Date(startedAt).toISOString(), end_reason: "returned", vehicle_type_id: "classic_bike" },
    ...{ start_station_id: "A", end_station_id: "B", rider_category: "member" },
    ...fields,
  });
}

describe("an export of rides", () => {
  beforeEach(() => harness.stations({ id: "A", name: 'Quay, "north"' }, { id: "B", name: "Sjøsiden" }));

  it("has the rides that started in the month on the city's clocks, and counts what it leaves out", async () => {
    await harness.rides([
      ride("before", FROM - 1),
      ride("first", FROM),
      ride("last", TO - 1),
      ride("after", TO),
      ride("short", FROM + HOUR_MS, { is_countable: false, duration_seconds: 59 }),
      ride("by-staff", FROM + HOUR_MS, { end_reason: "operator" }),
      ride("abandoned", FROM + HOUR_MS, { end_reason: "timeout" }),
      ride("cancelled", FROM + HOUR_MS, { status: "cancelled" }),
      ride("under-way", FROM + HOUR_MS, { status: "started", ended_at: null, is_countable: null }),
    ]);
    const made = await harness.make({ privacy: "full" });
    expect(await harness.ask(made.path, "select ride_id, started_at from file")).toEqual([
      { ride_id: "first", started_at: "2026-10-01 00:00:00.000" },
      { ride_id: "last", started_at: "2026-10-31 23:59:59.999" },
    ]);
    expect(made).toMatchObject({
      rows: 2,
      left_out: { not_completed: 2, short: 1, ended_by_operator: 2, rare: 0 },
      period: { from: "2026-09-30T22:00:00.000Z", to: "2026-10-31T23:00:00.000Z" },
      ...{ licence: "CC-BY-4.0", time_zone: TIME_ZONE, file_name: "main-rides-2026-10-full.csv.gz" },
    });
  });

  it("has Citi Bike's columns in their order, and a manifest that says what the file is", async () => {
    await harness.rides([ride("r1", FROM + HOUR_MS + 1_234, { end_station_id: null, rider_category: null })]);
    const made = await harness.make();
    const [row] = await harness.ask(made.path, "select * from file");
    expect(Object.entries(row ?? {})).toEqual([
      ["ride_id", expect.stringMatching(/^[0-9A-F]{20}$/)],
      ["rideable_type", "classic_bike"],
      ["started_at", "2026-10-01 01:00:01"],
      ["ended_at", "2026-10-01 01:10:01"],
      ["start_station_name", 'Quay, "north"'],
      ["start_station_id", "A"],
      ["end_station_name", null],
      ["end_station_id", null],
      ["start_lat", "47.37"],
      ["start_lng", "8.54"],
      ["end_lat", null],
      ["end_lng", null],
      ["member_casual", null],
    ]);
    const bytes = await readFile(made.path);
    expect(made).toMatchObject({
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    });
    const { path, ...manifest } = made;
    expect(JSON.parse(await readFile(`${path}.manifest.json`, "utf8"))).toEqual(manifest);
    expect(await harness.files()).toContain("main-rides-2026-10-stations.csv.gz");
  });

  it("gives other ids in each file, so that two files cannot be joined by them", async () => {
    await harness.rides([ride("r1", FROM)]);
    const ids = new Set<unknown>();
    for (const privacy of ["stations", "stations", "coarse"] as const) {
      const rows = await harness.ask((await harness.make({ privacy })).path, "select ride_id from file");
      for (const { ride_id: id } of rows) ids.add(id);
    }
    expect(ids.has("r1")).toBe(false);
    expect(ids.size).toBe(2);
  });

  it("is read back by our own import without a reject, and gives the same rides", async () => {
    const rides = Array.from({ length: 300 }, (_, n) =>
      ride(`ride-${n}`, FROM + n * 2 * HOUR_MS + n * 7_919, {
        ended_at: new Date(FROM + n * 2 * HOUR_MS + n * 7_919 + 90_000 + n * 1_001).toISOString(),
        ...(n % 5 === 0 ? { start_station_id: null } : {}),
        ...(n % 7 === 0 ? { end_station_id: null, end_reason: "free_floating" } : {}),
        rider_category: n % 3 === 0 ? "casual" : "member",
        vehicle_type_id: n % 2 === 0 ? "electric_bike" : "classic_bike",
      }),
    );
    await harness.rides(rides);
    const made = await harness.make({ privacy: "full" });
    const target = await openTripImportHarness(await createTestDatabase());
    const zone = openTimeZone(TIME_ZONE);
    const now = TO + 24 * HOUR_MS;
    const result = await target.import([made.path], { zone, clock: () => now });
    expect(result).toMatchObject({ rows: 300, created: 300, rejected: 0, reasons: {}, refused: [] });
    const told = (each: Readonly<Record<string, unknown>>) => [
      ...[each["id"], each["started_at"], each["ended_at"], each["start_station_id"], each["end_station_id"]],
      ...[each["vehicle_type_id"], each["rider_category"]],
    ];
    // Leaves out the hour that clocks show twice, because a file in Citi Bike's format does not say which one it means.
    const isAmbiguous = (each: { readonly started_at: string }) =>
      each.started_at >= "2026-10-24T23:50" && each.started_at < "2026-10-25T02:00";
    const sorted = (all: readonly (Readonly<Record<string, unknown>> & { readonly started_at: string })[]) =>
      all
        .filter((each) => !isAmbiguous(each))
        .map(told)
        .toSorted((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
    const back = await target.rides();
    expect(sorted(back.map((each) => ({ ...each })))).toEqual(sorted(rides));
    await target.close();
    await target.db.close();
  });

  it("has the same rows in CSV and in Parquet, where instants are in UTC", async () => {
    await harness.rides(Array.from({ length: 120 }, (_, n) => ride(`ride-${n}`, FROM + n * 6 * HOUR_MS + n * 997)));
    const csv = await harness.make({ privacy: "full", format: "csv" });
    const parquet = await harness.make({ privacy: "full", format: "parquet" });
    const columns =
      "ride_id, rideable_type, start_station_name, end_station_id, start_lat::double as lat, member_casual";
    const local = `strftime(timezone('${TIME_ZONE}', started_at), '%Y-%m-%d %H:%M:%S.%g') as at`;
    const rows = await harness.ask(parquet.path, `select ${columns}, ${local} from file order by ride_id`);
    expect(await harness.ask(csv.path, `select ${columns}, started_at as at from file order by ride_id`)).toEqual(rows);
    const types = await harness.ask(
      parquet.path,
      "select typeof(started_at) as at, typeof(start_lat) as lat from file limit 1",
    );
    expect(types).toEqual([{ at: "TIMESTAMP WITH TIME ZONE", lat: "DOUBLE" }]);
    expect([csv.rows, parquet.rows]).toEqual([120, 120]);
  });
});

const place = fc.constantFrom("A", "B", "C", "D", "E", null);
const trips = fc.array(
  fc.record({ start: place, end: place, at: fc.integer({ min: 0, max: 40 }), count: fc.integer({ min: 1, max: 6 }) }),
  { maxLength: 25 },
);

describe("a coarse export", () => {
  const city = [
    { id: "A", region_id: "north", lat: 59.123456, lon: 10.654321 },
    { id: "B", region_id: "north" },
    { id: "C", region_id: "south" },
    { id: "D", region_id: "south" },
    { id: "E", region_id: null },
  ];
  const places = [
    "start_station_id",
    "start_station_name",
    "start_lat",
    "end_station_id",
    "end_station_name",
    "end_lat",
  ];
  const rare = `select count(*) as n from file group by ${places.join(", ")} having count(*) < ${MIN_FLOW_RIDES}`;

  it("names no pair of places with fewer than 5 rides, in any small city, and loses no ride uncounted", async () => {
    await fc.assert(
      fc.asyncProperty(trips, async (groups) => {
        await harness.clear();
        await harness.stations(...city);
        const rides = groups.flatMap(({ start, end, at, count }, group) =>
          Array.from({ length: count }, (_, n) =>
            ride(`${group}-${n}`, FROM + at * 17 * 60_000 + n, { start_station_id: start, end_station_id: end }),
          ),
        );
        await harness.rides(rides);
        const csv = await harness.make({ privacy: "coarse" });
        const parquet = await harness.make({ privacy: "coarse", format: "parquet" });
        for (const made of [csv, parquet]) {
          expect(await harness.ask(made.path, rare)).toEqual([]);
          expect(await harness.ask(made.path, "select count(*)::int as n from file")).toEqual([{ n: made.rows }]);
          expect(made.rows + (made.left_out?.rare ?? 0)).toBe(rides.length);
        }
        expect(parquet.left_out).toEqual(csv.left_out);
        // All rides of frequent pairs are in the file, and name stations.
        const pairs = Map.groupBy(rides, (each) => `${each.start_station_id} ${each.end_station_id}`);
        const frequent = [...pairs.values()].filter(({ length }) => length >= MIN_FLOW_RIDES).flat().length;
        expect(csv.rows - (csv.merged ?? 0)).toBe(frequent);
      }),
      { numRuns: randomRuns(4) },
    );
  });

  it("merges rare pairs into their regions, and leaves out what is rare there too or has no region", async () => {
    await harness.stations(...city);
    const pair = (start: string, end: string | null, count: number) =>
      Array.from({ length: count }, (_, n) =>
        ride(`${start}${end}${n}`, FROM + n * 60_000, { start_station_id: start, end_station_id: end }),
      );
    await harness.rides([
      ...pair("A", "B", 5),
      ...pair("A", "C", 3),
      ...pair("B", "D", 2),
      ...pair("C", "A", 4),
      ...pair("E", "A", 4),
      ...pair("A", null, 4),
      ...pair("B", null, 1),
    ]);
    const made = await harness.make({ privacy: "coarse" });
    const named = `select start_station_id, start_station_name, start_lat, end_station_name, count(*)::int as n from file group by all order by all`;
    expect(await harness.ask(made.path, named)).toEqual([
      {
        start_station_id: "A",
        start_station_name: "Station A",
        start_lat: "59.123",
        end_station_name: "Station B",
        n: 5,
      },
      { start_station_id: null, start_station_name: "north", start_lat: "53.247", end_station_name: "south", n: 5 },
      { start_station_id: null, start_station_name: "north", start_lat: "53.247", end_station_name: null, n: 5 },
    ]);
    expect(made).toMatchObject({ rows: 15, merged: 10, left_out: { rare: 8 } });
  });

  it("has times to a quarter of an hour on the city's clocks, and within one no order of the rides", async () => {
    await harness.stations(...city);
    const rides = Array.from({ length: 200 }, (_, n) =>
      ride(`r${n}`, FROM + n * 4_000, { rider_category: n < 100 ? "member" : "casual" }),
    );
    await harness.rides(rides);
    const made = await harness.make({ privacy: "coarse" });
    const times = await harness.ask(made.path, "select distinct started_at, ended_at from file order by all");
    expect(times).toEqual([
      { started_at: "2026-10-01 00:00:00", ended_at: "2026-10-01 00:00:00" },
      { started_at: "2026-10-01 00:00:00", ended_at: "2026-10-01 00:15:00" },
    ]);
    const kinds = (await harness.ask(made.path, "select member_casual as kind from file")).map(({ kind }) => kind);
    expect(kinds).not.toEqual(rides.map((each) => each.rider_category));
  });
});

describe("a file that cannot be made", () => {
  it.each([
    [{ directory: "/nowhere/at/all" }, /There is no directory/],
    [{ directory: "/proc" }, /no directory \/proc|may not write in \/proc/],
  ])("says what to do: %j", async (options, message) => {
    await expect(harness.make(options as object)).rejects.toThrow(message);
  });

  it("leaves the file and the manifest of before, if the disk has no room for the new manifest", async () => {
    await harness.rides([ride("first", FROM)]);
    const { path } = await harness.make({ privacy: "full" });
    const before = await harness.files();
    await harness.rides([ride("second", FROM)]);
    // Every write to /dev/full fails like a write to a full disk.
    await symlink("/dev/full", `${path}.manifest.json.part`);
    await expect(harness.make({ privacy: "full" })).rejects.toThrow("is full. Free space there, then export again.");
    expect(await harness.files()).toEqual(before);
    expect(await harness.ask(path, "select ride_id from file")).toEqual([{ ride_id: "first" }]);
  });
});

it("stations are exported without a month, also those that were removed", async () => {
  await harness.stations({ id: "A", region_id: "north" }, { id: "B", status: "removed" });
  const made = await harness.make({ kind: "stations", month: null, privacy: null, format: "parquet" });
  expect(made.file_name).toBe("main-stations.parquet");
  expect(await harness.ask(made.path, "select station_id, region_name, capacity, status from file")).toEqual([
    { station_id: "A", region_name: "north", capacity: null, status: "online" },
    { station_id: "B", region_name: null, capacity: null, status: "removed" },
  ]);
  expect(made).toMatchObject({ left_out: null, merged: null, privacy: null, month: null });
});
