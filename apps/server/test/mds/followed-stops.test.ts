import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mdsRecentEvents, mdsStops, mdsVehicles } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { importGbfs } from "../../src/feeds/gbfs/import.ts";
import { keyContext } from "../built-app.ts";
import { city23 } from "../gbfs/city.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";
import { expectOfficial } from "./official-schemas.ts";

let mds: MdsHarness;
let key: string;
let directory: string;

beforeAll(async () => {
  mds = await startMds();
  key = (await mds.agency()).key.key;
  directory = await mkdtemp(join(tmpdir(), "bikeshare-mds-"));
  const last_updated = Math.floor(mds.app.clock() / 1000) - 60;
  for (const [feed, document] of Object.entries(city23()))
    await writeFile(join(directory, `${feed}.json`), JSON.stringify({ ...document, last_updated }));
  const { db, systemId } = mds.app;
  const from = { location: directory, systemId, source: "city", importId: "city", reportDirectory: directory };
  await importGbfs(db, { ...keyContext(mds.app), ...from });
});
afterAll(async () => {
  await mds.close();
  await rm(directory, { recursive: true });
});

const read = async (path: string): Promise<unknown> => {
  const response = await mds.get(path, key);
  expect([path, response.status]).toEqual([path, 200]);
  const body: unknown = await response.json();
  return body;
};

it("has a followed feed's stations with its counts, and none of its bikes, whose ids change", async () => {
  const body = await read("/mds/stops");
  expectOfficial("get-stops", body);
  const { stops } = mdsStops.parse(body);
  expect(stops.map((stop) => [stop.name, stop.capacity, stop.num_vehicles_available])).toEqual([
    ["Harbour", { bicycle: 12 }, { bicycle: 3 }],
    ["Square", { bicycle: 20 }, {}],
  ]);
  expect(stops.filter((stop) => stop.devices !== undefined)).toEqual([]);
  expect(mdsVehicles.parse(await read("/mds/vehicles")).vehicles).toEqual([]);
  const now = mds.app.clock();
  const span = `start_time=${now - 3_600_000}&end_time=${now}`;
  expect(mdsRecentEvents.parse(await read(`/mds/events/recent?${span}`)).events).toEqual([]);
});
