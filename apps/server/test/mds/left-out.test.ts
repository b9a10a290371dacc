import { mdsContract } from "@bikeshare/contract/mds";
import { afterAll, beforeAll, expect, it } from "vitest";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { endRides } from "../../src/city/fleet/finish-rides.ts";
import { startRides } from "../../src/city/fleet/start-rides.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { setAgency } from "../../src/feeds/mds/agencies.ts";
import { readRequirements } from "../../src/feeds/mds/requirements.rules.ts";
import { keyContext } from "../built-app.ts";
import { type MdsHarness, startMds } from "./mds.harness.ts";

const HOUR = 3_600_000;
let mds: MdsHarness;
let hour: string;
let began: number;
beforeAll(async () => {
  mds = await startMds();
  const { app } = mds;
  const { systemId } = app;
  app.clock.advance(HOUR - (app.clock() % HOUR));
  began = app.clock();
  hour = new Date(began).toISOString().slice(0, 13);
  await upsertStations(app, systemId, [{ item: { id: "A", name: "Harbour", lat: 59.9, lon: 10.7, capacity: 10 } }]);
  await mds.agency();
  await upsertBikes(app, systemId, [{ item: { id: "b", station_id: "A" } }]);
  app.clock.advance(60_000);
  await startRides(app, systemId, [{ item: { id: "r", bike_id: "b" } }]);
  app.clock.advance(60_000);
  await endRides(app, systemId, [{ item: { id: "r", end_station_id: "A" } }]);
  app.clock.advance(2 * HOUR);
});
afterAll(() => mds.close());

/** For each list, a field that every record has. The requirements disallow these fields. */
const disallowed = {
  vehicles: "vehicle_id",
  "vehicles/status": "location",
  events: "publication_time",
  telemetry: "timestamp",
  trips: "start_location",
  stops: "capacity",
};

const requirements = readRequirements({
  programs: [
    {
      required_data_specs: [
        {
          ...{ data_spec_name: "MDS", version: "2.0.1" },
          required_apis: [
            {
              api_name: "provider",
              required_endpoints: Object.entries(disallowed).map(([name, field]) => ({
                ...{ endpoint_name: name, disallowed_fields: [field] },
              })),
            },
          ],
        },
      ],
    },
  ],
});

/** Returns every JSON list of the contract: its kind, and its path with parameters for which it has records. */
function pathsOfLists(ids: { readonly device: string; readonly stop: string }): [keyof typeof disallowed, string][] {
  const queries: Readonly<Record<string, string>> = {
    "/mds/trips": `?end_time=${hour}`,
    "/mds/events/historical": `?event_time=${hour}`,
    "/mds/events/recent": `?start_time=${began}&end_time=${began + HOUR}`,
    "/mds/telemetry": `?telemetry_time=${hour}`,
  };
  return Object.values(mdsContract)
    .filter(({ path, method }) => method === "GET" && !path.startsWith("/mds/reports"))
    .map(({ path }) => {
      const list = path.replace("/mds/", "").replace(/\/:.*/, "");
      const name = list.startsWith("events") ? "events" : list;
      const filled = path.replace(":device_id", ids.device).replace(":stop_id", ids.stop);
      return [name as keyof typeof disallowed, `${filled}${queries[path] ?? ""}`]; // the paths of the contract
    });
}

it("a field that an agency's requirement file disallows is in no answer to it, and in those to others", async () => {
  const everything = await mds.agency();
  const less = await mds.agency({ requirements });
  const read = async (path: string, key: string) => {
    const response = await mds.get(path, key);
    expect([path, response.status]).toEqual([path, 200]);
    return response.text();
  };
  const idIn = (text: string, name: string) => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? "";
  const device = idIn(await read("/mds/vehicles", everything.key.key), "device_id");
  const stop = idIn(await read("/mds/stops", everything.key.key), "stop_id");
  const paths = pathsOfLists({ device, stop });
  expect(new Set(paths.map(([list]) => list))).toEqual(new Set(Object.keys(disallowed)));
  for (const [list, path] of paths) {
    const field = `"${disallowed[list]}":`;
    expect([path, (await read(path, everything.key.key)).includes(field)]).toEqual([path, true]);
    const left = await read(path, less.key.key);
    expect([path, left.includes(field), left.length > 150]).toEqual([path, false, true]);
  }
  // Records inside a status follow the requirements of their own lists.
  const status = await read("/mds/vehicles/status", less.key.key);
  expect(/"last_event":\{[^}]*"timestamp"/.test(status)).toBe(true);
  expect(/publication_time|"last_telemetry":\{[^}]*"timestamp"/.test(status)).toBe(false);
});

it("an hour has another tag when its agency may be given other fields", async () => {
  const agency = await mds.agency();
  const path = `/mds/trips?end_time=${hour}`;
  const first = await mds.get(path, agency.key.key);
  const headers = { "if-none-match": first.headers.get("etag") ?? "" };
  await first.arrayBuffer();
  expect((await mds.get(path, agency.key.key, headers)).status).toBe(304);
  await setAgency(keyContext(mds.app), mds.app.systemId, agency.partnerId, { requirements });
  const second = await mds.get(path, agency.key.key, headers);
  expect([second.status, (await second.text()).includes("start_location")]).toEqual([200, false]);
});
