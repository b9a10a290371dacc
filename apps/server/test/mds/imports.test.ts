import { MDS_REPORT_MEDIA_TYPE, mdsTrips } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { undoImport } from "../../src/feeds/imports/undo.ts";
import { openTimeZone } from "../../src/feeds/trips/trip-times.rules.ts";
import { keyContext } from "../built-app.ts";
import { openTripImportHarness, type TripImportHarness } from "../trips/trip-import.harness.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { vehicleLogs } from "./vehicle-logs.ts";

let mds: MdsHarness;
let trips: TripImportHarness;
let key: string;

beforeAll(async () => {
  mds = await startMds();
  const { db, systemId } = mds.app;
  trips = await openTripImportHarness({ db, systemId, close: () => Promise.resolve() });
  key = (await mds.agency()).key.key;
  mds.app.clock.advance(Date.parse("2026-08-10T00:00:00Z") - mds.app.clock());
});
afterAll(async () => {
  await trips.close();
  await mds.close();
});

const HEADER =
  "tripduration,starttime,stoptime,start station id,start station name,start station latitude,start station longitude,end station id,end station name,end station latitude,end station longitude,bikeid,usertype,birth year,gender";

async function readHour() {
  const response = await mds.get("/mds/trips?end_time=2026-07-05T08", key);
  const body: unknown = await response.json();
  return { etag: response.headers.get("etag"), trips: mdsTrips.parse(body).trips };
}

async function countOfMonth() {
  const response = await mds.get("/mds/reports/2026-07.csv", key, { accept: MDS_REPORT_MEDIA_TYPE });
  return /all_riders,null,bicycle,(-?\d+)/.exec(await response.text())?.[1];
}

it("has the trips of an import until it is undone, in hours and in the report, and no events of them", async () => {
  const { app } = mds;
  const before = await readHour();
  // There are no vehicles and trips yet, so the report has no vehicle type to count.
  expect([before.trips, await countOfMonth()]).toEqual([[], undefined]);
  const lines = Array.from(
    { length: 12 },
    (_, n) =>
      `60,2026-07-05 08:00:${10 + n},2026-07-05 08:01:${10 + n},1,First,40.71,-74.03,2,Second,40.72,-74.04,${900 + n},Subscriber,1993,1`,
  );
  const file = await trips.write("trips.csv", [HEADER, ...lines, ""].join("\n"));
  await trips.import([file], { clock: app.clock, zone: openTimeZone("UTC"), importId: "july" });
  const imported = await readHour();
  expect(imported.trips).toHaveLength(12);
  expect(imported.trips[0]).toMatchObject({
    start_location: { lat: 40.71 },
    end_location: { lat: 40.72 },
    duration: 60,
  });
  expect(await countOfMonth()).toBe("12");
  expect((await vehicleLogs(app.db, app.systemId)).size).toBe(0);
  await undoImport({ ...keyContext(app), db: app.db, onProgress: () => undefined }, app.systemId, "july");
  const undone = await readHour();
  expect([undone.trips, await countOfMonth()]).toEqual([[], undefined]);
  expect(new Set([imported.etag, undone.etag]).size).toBe(2);
});
