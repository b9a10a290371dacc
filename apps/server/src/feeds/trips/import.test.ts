import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { examples, openTripImportHarness, type TripImportHarness } from "../../../test/trips/trip-import.harness.ts";
import type { Database } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { updateRunningImport } from "../imports/queries.ts";
import { runningImports, whileReporting } from "../imports/service.ts";
import { openTimeZone } from "./trip-times.rules.ts";

let harness: TripImportHarness;
beforeEach(async () => {
  harness = await openTripImportHarness();
});
afterEach(() => harness.close());

const HEADER = examples.lyft.split("\n")[0] ?? "";
const lyftRow = (id: string, changes: Readonly<Record<string, string>> = {}) => {
  const values: Record<string, string> = {
    ride_id: id,
    rideable_type: "classic_bike",
    started_at: "2021-02-03 10:00:00",
    ended_at: "2021-02-03 10:10:00",
    start_station_name: "First",
    start_station_id: "JC1",
    end_station_name: "Second",
    end_station_id: "JC2",
    start_lat: "40.73",
    start_lng: "-74.04",
    end_lat: "40.74",
    end_lng: "-74.05",
    member_casual: "member",
    ...changes,
  };
  return HEADER.split(",")
    .map((column) => values[column] ?? "")
    .join(",");
};
const lyftFile = (rows: readonly string[]) => `${[HEADER, ...rows].join("\n")}\n`;

describe("importTrips, by format", () => {
  it("makes completed rides of old Citi Bike rows, named after source, bike and local start", async () => {
    const result = await harness.import([await harness.write("a.csv", examples.citiBike)], { source: "citibike" });
    expect(result).toMatchObject({ rows: 2, created: 2, unchanged: 0, rejected: 0, reasons: {}, stations_created: 2 });
    expect(await harness.rides()).toEqual([
      {
        id: "citibike:29213:20190701T050000.000",
        bike_id: "29213",
        status: "completed",
        start_station_id: "12",
        end_station_id: null,
        started_at: "2019-07-01T09:00:00.000Z",
        ended_at: "2019-07-01T09:00:59.999Z",
        duration_seconds: 59,
        distance_meters: null,
        vehicle_type_id: null,
        rider_category: "casual",
        end_reason: null,
        is_countable: false,
        source: "citibike",
      },
      {
        id: "citibike:29612:20190101T030909.711",
        bike_id: "29612",
        status: "completed",
        start_station_id: "11",
        end_station_id: "12",
        started_at: "2019-01-01T08:09:09.711Z",
        ended_at: "2019-01-01T08:12:30.879Z",
        duration_seconds: 201,
        distance_meters: null,
        vehicle_type_id: null,
        rider_category: "member",
        end_reason: "returned",
        is_countable: true,
        source: "citibike",
      },
    ]);
  });

  it("gives each Lyft ride a bike of its own, and tells returned, left free and unknown apart", async () => {
    await harness.import([await harness.write("a.csv", examples.lyft)]);
    const rides = await harness.rides();
    expect(rides.map(({ id, bike_id }) => [id, bike_id])).toEqual([
      ["A1", "test:ride:A1"],
      ["A2", "test:ride:A2"],
      ["A3", "test:ride:A3"],
    ]);
    expect(rides.map(({ end_reason }) => end_reason)).toEqual(["returned", "free_floating", null]);
    expect(rides.map(({ vehicle_type_id }) => vehicle_type_id)).toEqual(["docked_bike", "electric_bike", null]);
    expect(rides.map(({ duration_seconds }) => duration_seconds)).toEqual([420, 172_801, 1200]);
  });

  it("reads both kinds of Divvy files, thousands separators included", async () => {
    const files = [await harness.write("a.csv", examples.divvy), await harness.write("b.csv", examples.divvyReport)];
    expect(await harness.import(files, { zone: openTimeZone("America/Chicago") })).toMatchObject({
      rows: 2,
      created: 2,
      rejected: 0,
    });
    const [first, second] = await harness.rides();
    expect(first).toMatchObject({
      id: "21742443",
      bike_id: "2167",
      duration_seconds: 1783,
      started_at: "2019-01-01T06:04:37.000Z",
      start_station_id: "199",
    });
    expect(second).toMatchObject({
      id: "22178529",
      bike_id: "6251",
      duration_seconds: 446,
      start_station_id: "81",
      end_station_id: "56",
      rider_category: "casual",
    });
  });

  it("reads Urban Sharing files at their own offset, whatever the zone", async () => {
    await harness.import([await harness.write("a.csv", examples.urbanSharing)], { source: "oslo" });
    expect(await harness.rides()).toMatchObject([
      {
        id: "oslo:443:410:20190401T040220.493000:408710",
        bike_id: "oslo:ride:oslo:443:410:20190401T040220.493000:408710",
        started_at: "2019-04-01T04:02:20.493Z",
        duration_seconds: 408,
      },
    ]);
    expect((await harness.stations()).map(({ name }) => name)).toEqual(["Landstads gate", "Sjøsiden"]);
  });

  it("reads Bluebikes files with postal codes", async () => {
    expect(await harness.import([await harness.write("a.csv", examples.bluebikes)])).toMatchObject({
      created: 1,
      rejected: 0,
    });
  });

  it("reads gzip whatever the file is called, a byte order mark, and any kind of line end", async () => {
    const text = `\uFEFF${examples.lyft.replaceAll("\n", "\r\n")}`;
    expect(await harness.import([await harness.write("a.csv", gzipSync(text))])).toMatchObject({ rows: 3, created: 3 });
    expect(await harness.import([await harness.write("b.gz", examples.lyft)])).toMatchObject({ rows: 3, unchanged: 3 });
  });

  it("keeps neither birth year nor gender anywhere in the database", async () => {
    await harness.import([await harness.write("a.csv", examples.citiBike)]);
    expect(JSON.stringify([await harness.rides(), await harness.stations()])).not.toContain("1993");
  });
});

describe("importTrips, row by row", () => {
  it("rejects bad rows with file, row, column, value and reason, and imports all others", async () => {
    const rows = [
      lyftRow("good1"),
      lyftRow("r3", { ended_at: "2021-02-03 09:59:59" }),
      lyftRow("r4", { ended_at: "2099-02-03 10:00:00" }),
      lyftRow("r5", { started_at: "06:17.5" }),
      "",
      lyftRow("r7", { ended_at: "" }),
      lyftRow("r8", { start_lat: "north" }),
      lyftRow("r9", { end_lng: "181" }),
      lyftRow(""),
      lyftRow("r11", { end_station_id: "x".repeat(256) }),
      `${lyftRow("r12")},more`,
      '"r13"x,broken',
      lyftRow("good0", { start_station_name: '"The "Loop" St"' }),
      lyftRow("good2"),
      lyftRow("good3"),
      lyftRow("good4"),
    ];
    const path = await harness.write("a.csv", lyftFile(rows));
    const result = await harness.import([path]);
    expect(result).toMatchObject({
      rows: 15,
      created: 5,
      unchanged: 0,
      rejected: 10,
      reasons: {
        end_before_start: 1,
        ends_in_future: 1,
        bad_time: 1,
        missing_value: 2,
        bad_coordinate: 2,
        bad_identifier: 1,
        wrong_column_count: 2,
      },
    });
    const rejected = (await harness.report(result)).filter(({ kind }) => kind === "rejected");
    expect(
      rejected.map(({ file, row, column, value, reason }) => [
        file === path,
        row,
        column,
        value?.slice(0, 20) ?? null,
        reason,
      ]),
    ).toEqual([
      [true, 3, "ended_at", "2021-02-03 09:59:59", "end_before_start"],
      [true, 4, "ended_at", "2099-02-03 10:00:00", "ends_in_future"],
      [true, 5, "started_at", "06:17.5", "bad_time"],
      [true, 7, "ended_at", "", "missing_value"],
      [true, 8, "start_lat", "north", "bad_coordinate"],
      [true, 9, "end_lng", "181", "bad_coordinate"],
      [true, 10, "ride_id", "", "missing_value"],
      [true, 11, "end_station_id", "xxxxxxxxxxxxxxxxxxxx", "bad_identifier"],
      [true, 12, null, "14 columns instead o", "wrong_column_count"],
      [true, 13, null, "2 columns instead of", "wrong_column_count"],
    ]);
    expect(await harness.wrongCounts()).toEqual([]);
  });

  it("counts rows as an editor does where a quoted name spans two lines", async () => {
    const result = await harness.import([
      await harness.write(
        "a.csv",
        lyftFile([
          lyftRow("a", { start_station_name: '"First\nStreet"' }),
          lyftRow("b", { ended_at: "" }),
          lyftRow("c"),
        ]),
      ),
    ]);
    expect((await harness.report(result)).find(({ kind }) => kind === "rejected")).toMatchObject({
      row: 4,
      reason: "missing_value",
    });
  });

  it("rejects a second, different ride under one id, in one file and in two, and the first stays", async () => {
    const first = await harness.write(
      "a.csv",
      lyftFile([lyftRow("same"), lyftRow("same"), lyftRow("same", { ended_at: "2021-02-03 11:00:00" })]),
    );
    const second = await harness.write("b.csv", lyftFile([lyftRow("same", { member_casual: "casual" })]));
    const result = await harness.import([first, second]);
    expect(result).toMatchObject({ rows: 4, created: 1, unchanged: 1, rejected: 2, reasons: { duplicate_id: 2 } });
    const rejected = (await harness.report(result)).filter(({ kind }) => kind === "rejected");
    expect(rejected).toMatchObject([
      { file: first, row: 4, column: "ride_id", value: "same", reason: "duplicate_id" },
      { file: second, row: 2, column: "ride_id", value: "same", reason: "duplicate_id" },
    ]);
    expect(await harness.rides()).toMatchObject([{ duration_seconds: 600, rider_category: "member" }]);
  });

  it("finds the one id among thousands of new ones that is taken, and names its row", async () => {
    const taken = lyftRow("n-4321", { member_casual: "casual" });
    const news = Array.from({ length: 6000 }, (_, n) => lyftRow(`n-${n}`));
    const files = [await harness.write("a.csv", lyftFile([taken])), await harness.write("b.csv", lyftFile(news))];
    const result = await harness.import(files);
    expect(result).toMatchObject({ rows: 6001, created: 6000, unchanged: 0, rejected: 1 });
    expect((await harness.report(result)).filter(({ kind }) => kind === "rejected")).toMatchObject([
      { file: files[1], row: 4323, value: "n-4321", reason: "duplicate_id" },
    ]);
    expect(await harness.rides()).toHaveLength(6000);
    expect(await harness.wrongCounts()).toEqual([]);
  });

  it("tells two rides of one bike apart that start at the same wall-clock time in the hour shown twice", async () => {
    const [header = "", row = ""] = examples.citiBike.split("\n");
    const at = (start: string, end: string, seconds: number) =>
      row
        .replace("2019-01-01 03:09:09.7110", start)
        .replace("2019-01-01 03:12:30.8790", end)
        .replace(/^201/, String(seconds));
    const rows = [
      at("2021-11-07 01:30:00.0000", "2021-11-07 01:40:00.0000", 600),
      at("2021-11-07 01:30:00.0000", "2021-11-07 02:05:00.0000", 2100),
    ];
    expect(await harness.import([await harness.write("a.csv", [header, ...rows].join("\n"))])).toMatchObject({
      created: 2,
      rejected: 0,
    });
    expect((await harness.rides()).map(({ id, started_at }) => [id, started_at])).toEqual([
      ["test:29612:20211107T013000.000", "2021-11-07T05:30:00.000Z"],
      ["test:29612:20211107T013000.000~2", "2021-11-07T06:30:00.000Z"],
    ]);
  });

  it("imports a ride of an unknown kind of rider with a warning, whatever word the file has", async () => {
    const words = ["robot", "constructor", "__proto__"];
    const rows = words.map((word) => lyftRow(word, { member_casual: word }));
    const result = await harness.import([await harness.write("a.csv", lyftFile(rows))]);
    expect(result).toMatchObject({ created: 3, rejected: 0, warnings: { unknown_rider_category: 3 } });
    expect((await harness.rides()).map(({ rider_category }) => rider_category)).toEqual([null, null, null]);
  });

  it("takes identifiers as they are, with backslashes, quotes and other scripts", async () => {
    const ids = ["a\\b", "a\\nb", "\\.", "駅-1", "Hubbard (LBS-WH-TEST)"];
    await harness.import([
      await harness.write("a.csv", lyftFile(ids.map((id) => lyftRow(id, { start_station_id: id })))),
    ]);
    expect((await harness.rides()).map(({ id, start_station_id }) => [id, start_station_id])).toEqual(
      ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).map((id) => [id, id]),
    );
  });
});

describe("importTrips, a bike on two rides at once", () => {
  it("takes what the file says, and counts such rides as warnings, with those that are stored already", async () => {
    const [header = "", , row = ""] = examples.citiBike.split("\n");
    const [start, end] = ["2019-07-01 05:00:00.0000", "2019-07-01 05:00:59.9990"];
    expect(row).toContain(`"${start}","${end}"`);
    const at = (from: string, to: string) =>
      row.replace(start, `2019-07-01 ${from}:00.0000`).replace(end, `2019-07-01 ${to}:00.0000`);
    const file = (name: string, ...rows: string[]) => harness.write(name, `${[header, ...rows].join("\n")}\n`);
    const apart = await harness.import([await file("a.csv", at("05:00", "05:10"), at("05:10", "05:20"))]);
    expect(apart).toMatchObject({ created: 2 });
    expect(apart.warnings).not.toHaveProperty("overlapping_ride");
    const overlapping = await harness.import([await file("b.csv", at("05:05", "05:06"), at("05:30", "05:40"))]);
    expect(overlapping).toMatchObject({ created: 2, rejected: 0, warnings: { overlapping_ride: 1 } });
    const report = await harness.report(overlapping);
    expect(report.filter(({ reason }) => reason === "overlapping_ride")).toMatchObject([
      { kind: "warning", row: null, value: "test:29213:20190701T050500.000" },
    ]);
  });
});

describe("importTrips, stations", () => {
  it("makes placeholders, out of service, of unknown stations from the first row with a place, and warns once each", async () => {
    const rows = [
      lyftRow("a", { start_lat: "", start_lng: "" }),
      lyftRow("b", { start_lat: "40.5", start_lng: "-74.5", start_station_name: "Later name" }),
      lyftRow("c", { start_station_id: "nowhere", start_lat: "0", start_lng: "0" }),
      lyftRow("d", { start_station_id: "nowhere", start_lat: "0.0", start_lng: "0.0" }),
    ];
    const result = await harness.import([await harness.write("a.csv", lyftFile(rows))]);
    expect(result).toMatchObject({
      created: 4,
      rejected: 0,
      stations_created: 2,
      warnings: { unknown_station: 2, station_without_location: 1 },
    });
    const placeholder = { status: "offline", offline_reason: "removed_from_source", source: "test" };
    expect(await harness.stations()).toEqual([
      { id: "JC1", name: "Later name", lat: 40.5, lon: -74.5, ...placeholder },
      { id: "JC2", name: "Second", lat: 40.74, lon: -74.05, ...placeholder },
    ]);
    expect((await harness.rides()).map(({ start_station_id }) => start_station_id)).toEqual([
      "JC1",
      "JC1",
      "nowhere",
      "nowhere",
    ]);
    expect(await harness.report(result)).toMatchObject([
      { row: 2, column: "start_station_id", value: "JC1", reason: "unknown_station", kind: "warning" },
      { row: 2, column: "end_station_id", value: "JC2", reason: "unknown_station" },
      { row: 4, column: "start_station_id", value: "nowhere", reason: "station_without_location" },
    ]);
    expect(await harness.wrongCounts()).toEqual([]);
  });
});

it("counts times that clocks never showed, or showed twice without a duration beside them, as warnings", async () => {
  const rows = [
    lyftRow("gap", { started_at: "2020-03-08 02:30:00", ended_at: "2020-03-08 03:10:00" }),
    lyftRow("fold", { started_at: "2020-11-01 01:10:00", ended_at: "2020-11-01 01:50:00" }),
    lyftRow("plain"),
  ];
  const result = await harness.import([await harness.write("clocks.csv", lyftFile(rows))]);
  expect(result).toMatchObject({ created: 3, warnings: { time_never_shown: 1, time_shown_twice: 2 } });
  const report = await harness.report(result);
  expect(report.filter(({ reason }) => reason?.startsWith("time_"))).toMatchObject([
    { kind: "warning", row: 2, column: "started_at", value: "2020-03-08 02:30:00", reason: "time_never_shown" },
    { row: 3, column: "started_at", reason: "time_shown_twice" },
    { row: 3, column: "ended_at", reason: "time_shown_twice" },
  ]);
});

it("leaves out a text beside trip files that is none, and refuses it where it is named", async () => {
  const trips = await harness.write("month/a.csv", lyftFile([lyftRow("a")]));
  const readme = await harness.write("month/README.txt", "Ask trips@bikes.example about this data.\n");
  const result = await harness.import([dirname(trips)]);
  expect(result).toMatchObject({ created: 1, refused: [], skipped: [readme] });
  expect(await harness.import([readme])).toMatchObject({ skipped: [], refused: [{ file: readme }] });
});

describe("importTrips, whole files", () => {
  const good = lyftFile([lyftRow("good")]);
  const many = Array.from({ length: 50 }, (_, n) => lyftRow(`r${n}`));

  it.each([
    ["an empty file", "", "empty", null],
    ["another header", "a,b,c\n1,2,3\n", "unknown_header", 1],
    ["extra columns", lyftFile(many).replaceAll("\n", ",\n"), "extra_column", 1],
    ["rows wider than the header", lyftFile(many.map((row) => `${row},`)), "wrong_column_count", 2],
    [
      "times that a spreadsheet ruined",
      lyftFile(many.map((_, n) => lyftRow(`r${n}`, { started_at: "06:17.5" }))),
      "ruined_times",
      2,
    ],
    [
      "a file with columns that a spreadsheet added to ruined times",
      `datamonth,${HEADER}\n2023-06,${lyftRow("r")}\n2023-06,${lyftRow("s", { started_at: "06:17.5" })}\n`,
      "ruined_times",
      3,
    ],
    [
      "times with the day first, which begin as if the month came first",
      lyftFile([
        lyftRow("may", { started_at: "05/01/2021 08:00", ended_at: "05/01/2021 08:10" }),
        lyftRow("january", { started_at: "25/01/2021 08:00", ended_at: "25/01/2021 08:10" }),
      ]),
      "day_first",
      3,
    ],
    ["a quote that never closes", lyftFile([...many, `"open,${lyftRow("x")}`, ...many]), "unparsable", 52],
    ["a quote that closes in the next row", lyftFile([...many, '"open,row', '"next",row', ...many]), "unparsable", 52],
    ["a line that is too long", lyftFile([...many, lyftRow("x".repeat(70_000))]), "unparsable", 52],
    ["a broken zip archive", Buffer.from("PK\u0003\u0004rest"), "broken_zip", null],
    ["UTF-16", Buffer.from(good, "utf16le"), "not_text", 1],
    ["zero bytes after good rows", `${good}\0\0`, "not_text", good.split("\n").length],
    ["letters of another encoding", Buffer.from(lyftFile([...many, lyftRow("Café")]), "latin1"), "not_text", 52],
    ["a letter that is cut at the end", Buffer.from(lyftFile([...many, "é"])).subarray(0, -2), "not_text", 52],
    ["a gzip stream that is cut off", gzipSync(lyftFile(many)).subarray(0, -20), "broken_gzip", null],
  ])(
    "refuses %s, says why and where, imports nothing of it and everything of the others",
    async (_what, content, reason, row) => {
      const bad = await harness.write("bad.csv", content);
      const result = await harness.import([bad, await harness.write("good.csv", good)]);
      expect(result).toMatchObject({
        rows: 1,
        created: 1,
        rejected: 0,
        reasons: {},
        refused: [{ file: bad, row, reason }],
      });
      expect(await harness.rides()).toHaveLength(1);
      expect((await harness.report(result)).find(({ kind }) => kind === "refused")).toMatchObject({
        file: bad,
        row,
        reason,
      });
      expect(await harness.wrongCounts()).toEqual([]);
    },
  );

  it("names a station on one line of at most 255 characters, as the operator would", async () => {
    const row = lyftRow("r", { start_station_name: `"First\nStreet${"x".repeat(300)}"` });
    await harness.import([await harness.write("long.csv", lyftFile([row]))]);
    const names = (await harness.stations()).map(({ name }) => name);
    expect(names).toEqual([`First Street${"x".repeat(300)}`.slice(0, 255), "Second"]);
  });

  it("takes letters of every length, wherever the file is read in pieces", async () => {
    // The file is longer than one read, and has letters of two to four bytes where one read ends and the next begins.
    const rows = Array.from({ length: 3_000 }, (_, n) =>
      lyftRow(`ride-${n}`, { start_station_name: `${"é駅😀".repeat(8)}${"x".repeat(n % 7)}` }),
    );
    const result = await harness.import([await harness.write("letters.csv", lyftFile(rows))]);
    expect(result).toMatchObject({ created: 3_000, refused: [] });
  });

  it("refuses a file that is not there, and imports the others", async () => {
    const result = await harness.import(["/nowhere/trips.csv", await harness.write("good.csv", good)]);
    expect(result).toMatchObject({ created: 1, refused: [{ file: "/nowhere/trips.csv", reason: "unreadable" }] });
  });

  it("writes no report when there is nothing to report", async () => {
    await harness.import([await harness.write("good.csv", good)]);
    expect(await harness.import([await harness.write("again.csv", good)])).toMatchObject({
      unchanged: 1,
      report: null,
    });
  });

  it("imports a file with a header and no rows as nothing", async () => {
    expect(await harness.import([await harness.write("a.csv", HEADER)])).toMatchObject({
      rows: 0,
      created: 0,
      refused: [],
    });
  });
});

describe("importTrips, again", () => {
  const rows = Array.from({ length: 45_000 }, (_, n) =>
    lyftRow(`ride-${n}`, {
      started_at: `2021-02-${String(1 + (n % 28)).padStart(2, "0")} 09:00:00`,
      ended_at: "2021-03-03 10:10:00",
    }),
  );

  it("changes nothing in a second run of the same file", async () => {
    const file = await harness.write("a.csv", examples.citiBike);
    await harness.import([file]);
    const before = [await harness.rides(), await harness.stations()];
    expect(await harness.import([file])).toMatchObject({
      rows: 2,
      created: 0,
      unchanged: 2,
      rejected: 0,
      stations_created: 0,
    });
    expect([await harness.rides(), await harness.stations()]).toEqual(before);
    expect(await harness.wrongCounts()).toEqual([]);
  });

  it("ends with the reason when it is told to stop, and a second run completes it", async () => {
    const file = await harness.write("a.csv", lyftFile(rows));
    const stop = new AbortController();
    const onProgress = ({ doing }: { readonly doing: string }) =>
      doing === "writing" && stop.abort(new Error("told to stop"));
    await expect(harness.import([file], { signal: stop.signal, onProgress })).rejects.toThrow("told to stop");
    const left = (await harness.rides()).length;
    expect(left).toBeLessThan(rows.length);
    expect(await harness.wrongCounts()).toEqual([]);
    expect(await harness.import([file])).toMatchObject({ created: rows.length - left, unchanged: left });
  });

  it("completes in a second run what a first left undone, with the counts right in between and at the end", async () => {
    const file = await harness.write("a.csv", lyftFile(rows));
    await expect(harness.import([file], { db: failingAfter(harness.db, 3) })).rejects.toThrow("the machine went down");
    const left = (await harness.rides()).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(rows.length);
    expect(await harness.wrongCounts()).toEqual([]);
    expect(await harness.import([file])).toMatchObject({
      rows: rows.length,
      created: rows.length - left,
      unchanged: left,
      rejected: 0,
    });
    expect(await harness.rides()).toHaveLength(rows.length);
    expect(await harness.wrongCounts()).toEqual([]);
  });
});

it("says in the database how far it is while it runs, and nothing of it when it has ended or failed", async () => {
  const file = await harness.write("a.csv", lyftFile([lyftRow("R1"), lyftRow("R2")]));
  const running = () => runningImports(harness.db);
  const seen: unknown[] = [];
  const TIMEOUT = { timeout: 60_000 };
  const db: Database = {
    ...harness.db,
    async transaction(work) {
      if (seen.length === 0) await vi.waitUntil(async () => seen.push(...(await running())) > 0, TIMEOUT);
      return harness.db.transaction(work);
    },
  };
  await harness.import([file], { db });
  expect(seen[0]).toMatchObject({ kind: "trips", imports: 1, created: 0 });
  expect(await running()).toEqual([]);

  const { systemId } = harness;
  const of = (importId: string) => ({ db, systemId, importId, kind: "replay" }) as const;
  // Both imports wait for the same poll. With polls of their own, one import could find that the other has failed already.
  const bothRunning = vi.waitUntil(async () => (await running()).find(({ imports }) => imports === 2), TIMEOUT);
  const fails = async () => {
    await bothRunning;
    throw new Error("the file ends too early");
  };
  const two = [1, 2].map((n) => whileReporting(of(`replay_${n}`), () => ({ rows_read: 10 * n, rejected: n }), fails));
  expect(await Promise.allSettled(two)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect(await bothRunning).toMatchObject({
    kind: "replay",
    imports: 2,
    share: null,
    rows_read: 30,
    created: 0,
    rejected: 3,
  });
  expect(await running()).toEqual([]);
});

const NOTHING = { share: null, rows_read: 0, created: 0, unchanged: 0, rejected: 0 };

it("an import has got on when its figures have changed, not when it says again how far it is", async () => {
  const { systemId } = harness;
  const reported = { db: harness.db, systemId, importId: "import_1", kind: "trips" } as const;
  await whileReporting(
    reported,
    () => ({ rows_read: 1 }),
    async () => {
      await vi.waitUntil(async () => (await runningImports(harness.db)).length === 1, { timeout: 20_000 });
      await harness.db.query(statement("", "update running_imports set progressed_at = now() - interval '1 h'"));
      const say = (rows: number) =>
        updateRunningImport(harness.db, { ...reported, id: "import_1" }, 60_000, { ...NOTHING, rows_read: rows });
      await say(1);
      expect((await runningImports(harness.db))[0]?.idle_seconds).toBeGreaterThan(3_000);
      await say(2);
      expect((await runningImports(harness.db))[0]?.idle_seconds).toBeLessThan(3_000);
    },
  );
});

/** Returns a database that fails after some transactions. */
function failingAfter(db: Database, transactions: number): Database {
  let begun = 0;
  return {
    ...db,
    transaction: (work) => {
      if (++begun > transactions) return Promise.reject(new Error("the machine went down"));
      return db.transaction(work);
    },
  };
}
