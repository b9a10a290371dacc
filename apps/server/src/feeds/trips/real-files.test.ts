import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openTripImportHarness, type TripImportHarness } from "../../../test/trips/trip-import.harness.ts";
import { openTimeZone } from "./trip-times.rules.ts";

const shared = process.env["BIKESHARE_SHARED_DATA"] ?? join(import.meta.dirname, "../../../../../../shared/data");
const trips = join(shared, "trips");
const absent = !existsSync(trips);

describe.skipIf(absent)(`real trip files${absent ? ` (skipped: there is no ${trips})` : ""}`, () => {
  let harness: TripImportHarness;
  beforeEach(async () => {
    harness = await openTripImportHarness();
  });
  afterEach(() => harness.close());

  it("imports four months of Jersey City in both formats, rejecting only the 4 trips that end before they start", async () => {
    const files = ["JC-201901", "JC-202003", "JC-202101", "JC-202102"].map((month) =>
      join(trips, `${month}-citibike-tripdata.csv`),
    );
    const result = await harness.import(files, { source: "citibike" });
    expect(result).toMatchObject({
      rows: 53_900,
      created: 53_896,
      unchanged: 0,
      rejected: 4,
      reasons: { end_before_start: 4 },
      refused: [],
    });
    const rides = await harness.rides();
    expect(rides.filter((ride) => ride.end_station_id === null)).toHaveLength(67);
    expect(rides.filter((ride) => !ride.is_countable)).toHaveLength(80);
    expect(rides.filter((ride) => ride.duration_seconds > 86_400)).toHaveLength(37);
    // Clocks went forward on 2020-03-08, so the local times of these trips differ by an hour more than the trips took.
    const overTheChange = rides.filter((ride) =>
      ["2020-03-05T14:28:18.911Z", "2020-03-07T20:57:18.772Z"].includes(ride.started_at),
    );
    expect(overTheChange.map((ride) => ride.duration_seconds).toSorted((a, b) => a - b)).toEqual([82_378, 514_405]);
    expect(
      overTheChange
        .map((ride) => Math.floor((Date.parse(ride.ended_at) - Date.parse(ride.started_at)) / 1000))
        .toSorted((a, b) => a - b),
    ).toEqual([82_378, 514_405]);
    expect(await harness.wrongCounts()).toEqual([]);
    expect(await harness.import(files, { source: "citibike" })).toMatchObject({
      rows: 53_900,
      created: 0,
      unchanged: 53_896,
      rejected: 4,
    });
    expect(await harness.wrongCounts()).toEqual([]);
  });

  it("imports dockless Divvy trips, and of the corrupted twin all but the two that end in 2099", async () => {
    const zone = openTimeZone("America/Chicago");
    const corrupted = await harness.import([join(trips, "202306-divvy-tripdata-3rows-corrupted.csv")], { zone });
    expect(corrupted).toMatchObject({
      rows: 999,
      created: 997,
      rejected: 2,
      reasons: { ends_in_future: 2 },
      warnings: { unknown_vehicle_type: 1 },
    });
    const rejected = (await harness.report(corrupted)).filter(({ kind }) => kind === "rejected");
    expect(rejected).toMatchObject([
      { row: 88, column: "ended_at" },
      { row: 139, column: "ended_at" },
    ]);
    const rides = await harness.rides();
    expect(rides.filter((ride) => ride.end_station_id === null)).toHaveLength(977 - 2);
    // The clean file has another kind of bike in the row that is the third corrupted row of the other file.
    expect(await harness.import([join(trips, "202306-divvy-tripdata-clean.csv")], { zone })).toMatchObject({
      created: 2,
      unchanged: 996,
      rejected: 1,
      reasons: { duplicate_id: 1 },
    });
    expect(await harness.wrongCounts()).toEqual([]);
  });
});
