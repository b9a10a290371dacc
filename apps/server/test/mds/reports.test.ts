import { MDS_REPORT_MEDIA_TYPE, mdsError } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describe } from "../../src/city/descriptions/service.ts";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { endRides } from "../../src/city/fleet/finish-rides.ts";
import { upsertPastRides } from "../../src/city/fleet/past-rides.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { listActs } from "../../src/partners/audit/queries.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";

let mds: MdsHarness;
/** An agency whose months begin 5:45 hours before those of UTC, and one with the months of the system. */
let kathmandu: Awaited<ReturnType<MdsHarness["agency"]>>;
let plain: Awaited<ReturnType<MdsHarness["agency"]>>;
let month: string;
let rides = 0;

beforeAll(async () => {
  mds = await startMds();
  const { app } = mds;
  await upsertStations(app, app.systemId, [{ item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } }]);
  kathmandu = await mds.agency({ timeZone: "Asia/Kathmandu" });
  plain = await mds.agency();
  const [year = 0, number = 0] = new Date(app.clock()).toISOString().split("-").map(Number);
  // Reports begin with the first complete month after the first agency was created.
  month = new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7);
  await upsertBikes(app, app.systemId, [{ item: { id: "b", station_id: "A" } }]);
  app.clock.advance(Date.parse(`${month}-01T00:00:00Z`) + 40 * 24 * 3_600_000 - app.clock());
});
afterAll(() => mds.close());

const get = (file: string, agency = plain) =>
  mds.get(`/mds/reports/${file}`, agency.key.key, { accept: MDS_REPORT_MEDIA_TYPE });

/** Returns the number of trips of each group in the month. */
async function counts(agency = plain): Promise<Record<string, number>> {
  const response = await get(`${month}.csv`, agency);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, MDS_REPORT_MEDIA_TYPE]);
  const text = await response.text();
  expectOfficial("get-reports-filename", text);
  const [, ...rows] = text
    .trimEnd()
    .split("\n")
    .map((line) => line.split(","));
  return Object.fromEntries(
    rows.map(([provider, start, duration, group = "", geography, type, trips, riders]) => {
      expect([provider, start, duration]).toEqual([agency.providerId, `${month}-01`, "P1M"]);
      expect([geography, type, riders]).toEqual(["null", "bicycle", "-1"]);
      return [group, Number(trips)];
    }),
  );
}

async function ridden(n: number, at: string, special_group?: "low_income") {
  const items = Array.from({ length: n }, (_, index) => {
    const time = new Date(Date.parse(at) + index * 1_000).toISOString();
    return { item: { id: `r${++rides}`, bike_id: "b", started_at: time, ended_at: time, special_group } };
  });
  expect(await upsertPastRides(mds.app, mds.app.systemId, items)).toMatchObject({ failed: 0 });
}

it("counts the trips of a month by group, and tells none below 10, 0 included, nor what one follows from", async () => {
  expect(await counts()).toEqual({ all_riders: -1, low_income: -1, adaptive_scooter: -1 });
  await ridden(9, `${month}-05T08:00:00Z`);
  expect(await counts()).toMatchObject({ all_riders: -1 });
  await ridden(2, `${month}-06T08:00:00Z`, "low_income");
  expect(await counts()).toEqual({ all_riders: 11, low_income: -1, adaptive_scooter: -1 });
  await ridden(8, `${month}-07T08:00:00Z`, "low_income");
  // The rides of other riders are nine.
  expect(await counts()).toEqual({ all_riders: 19, low_income: -1, adaptive_scooter: -1 });
  await ridden(1, `${month}-08T08:00:00Z`);
  expect(await counts()).toEqual({ all_riders: 20, low_income: 10, adaptive_scooter: -1 });
});

it("has the months of each agency's time zone, by the trips' starts", async () => {
  const before = await counts(kathmandu);
  // 00:15 on the 1st in Kathmandu, which is the last evening of the previous month in UTC.
  const start = Date.parse(`${month}-01T00:00:00Z`) - 5.5 * 3_600_000;
  await ridden(10, new Date(start).toISOString());
  expect([await counts(kathmandu), await counts()]).toEqual([
    { ...before, all_riders: (before["all_riders"] ?? 0) + 10 },
    { all_riders: 20, low_income: 10, adaptive_scooter: -1 },
  ]);
});

it("counts a ride of the month when it ends, whenever that is", async () => {
  const { app } = mds;
  const { all_riders: before = 0 } = await counts();
  const started_at = `${month}-20T08:00:00Z`;
  await startRides(app, app.systemId, [{ item: { id: "long", bike_id: "b", started_at } }]);
  expect((await counts())["all_riders"]).toBe(before);
  await endRides(app, app.systemId, [{ item: { id: "long", end_station_id: "A" } }]);
  expect((await counts())["all_riders"]).toBe(before + 1);
});

it("has no file of a month that is not over, was before the service began, or is none", async () => {
  const next = new Date(mds.app.clock()).toISOString().slice(0, 7);
  for (const file of [`${next}.csv`, "2999-01.csv", "2001-01.csv", "0000-01.csv", "2026-13.csv", "2026-10", "x"]) {
    const response = await get(file);
    expect([file, response.status]).toEqual([file, 404]);
    expect(mdsError.parse(await response.json()).error).toBe("not_found");
  }
});

it("asks for MDS's own media type of reports", async () => {
  const refused = await mds.get(`/mds/reports/${month}.csv`, plain.key.key);
  expect(refused.status).toBe(406);
  await refused.arrayBuffer();
});

it("writes into the audit log each month that an agency reads", async () => {
  const acts = await listActs(mds.app.db, mds.app.systemId, { actor: "key", limit: 10 });
  expect(acts.map(({ detail }) => detail)).toContainEqual({ endpoint: "/mds/reports", month });
});

it("tells the shapes of trips as the operator describes their types now, also of days that were counted before", async () => {
  const { app } = mds;
  const items = Array.from({ length: 10 }, (_, n) => {
    const time = `${month}-25T08:00:0${n}Z`;
    return { item: { id: `cargo${n}`, bike_id: "c", started_at: time, ended_at: time, vehicle_type_id: "cargo" } };
  });
  expect(await upsertPastRides(app, app.systemId, items)).toMatchObject({ failed: 0 });
  const rowOf = async (shape: string) =>
    (await (await get(`${month}.csv`)).text()).split("\n").find((row) => row.includes(`all_riders,null,${shape},`));
  expect(await rowOf("cargo_bicycle")).toBeUndefined();
  const type = { form_factor: "cargo_bicycle", propulsion_type: "human" } as const;
  await describe({ ...app, actor: "test" }, app.systemId, "vehicle_type", "cargo", type);
  expect(await rowOf("cargo_bicycle")).toMatch(/,10,-1$/);
});
