import { consoleContract, stationMap } from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { bikeRow, rowWriter, stationRow } from "../../test/rows.ts";
import { signIn } from "../../test/sign-in.ts";
import { statement } from "../storage/db/statement.ts";
import { STATION_MAP_MIN_AGE_MS } from "./stations-routes.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  await rowWriter(app).stations([
    stationRow({ id: "b", num_bikes_available: 4, num_docks_available: 9, last_reported: "2026-05-01T07:59:00.000Z" }),
    stationRow({ id: "a", status: "offline", offline_reason: "stale" }),
    stationRow({ id: "gone", status: "removed" }),
  ]);
});
afterAll(() => app.close());

it("shows a partner every station that is there, with what can be rented and returned", async () => {
  const viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  const response = await viewer.call("GET", `/console/v1/systems/main/partners/${app.partnerId}/stations`);
  expect(response.headers.get("cache-control")).toBe("no-store");
  const { data } = stationMap.parse(await response.json());
  expect(data.map(({ id }) => id)).toEqual(["a", "b"]);
  expect(data).toMatchObject([
    { status: "offline", offline_reason: "stale", last_reported: null },
    { bikes: 4, docks: 9, status: "online", last_reported: "2026-05-01T07:59:00.000Z" },
  ]);
});

it("answers 304 as long as nothing has changed, and the change after at most the map's age", async () => {
  const viewer = await signIn(app, { partnerId: null, role: "viewer" });
  const path = `${app.url}/console/v1/systems/main/stations`;
  const first = await fetch(path, { headers: viewer.headers });
  const etag = first.headers.get("etag") ?? "";
  await first.arrayBuffer();
  const headers = { ...viewer.headers, "if-none-match": etag };
  expect((await fetch(path, { headers })).status).toBe(304);
  await rowWriter(app).stations([stationRow({ id: "new" })]);
  app.clock.advance(STATION_MAP_MIN_AGE_MS);
  await expect
    .poll(async () => {
      const again = await fetch(path, { headers });
      return again.status === 200 && stationMap.parse(await again.json()).data.map(({ id }) => id);
    })
    .toEqual(["a", "b", "new"]);
});

it("lists the available bikes that stand at no station", async () => {
  await rowWriter(app).bikes([
    bikeRow({ id: "free", number: "0817", lat: 47.4, lon: 8.5 }),
    bikeRow({ id: "at a station", station_id: "b" }),
    bikeRow({ id: "broken", vehicle_state: "non_operational" }),
    bikeRow({ id: "nobody knows where", lat: null, lon: null }),
  ]);
  const viewer = await signIn(app, { partnerId: null, role: "viewer" });
  const body: unknown = await (await viewer.call("GET", "/console/v1/systems/main/free-bikes")).json();
  const free = consoleContract.fleet.freeBikes.responses[200].parse(body);
  expect(free).toEqual({ data: [{ id: "free", number: "0817", lat: 47.4, lon: 8.5 }], is_complete: true });
});

it("shows the stations as they were at an instant, and how one was over time", async () => {
  const viewer = await signIn(app, { partnerId: null, role: "viewer" });
  const path = "/console/v1/systems/main/stations";
  const read = async (query: string) => (await viewer.call("GET", `${path}${query}`)).json() as Promise<object>;
  // The database's clock sets `known_since`, so the test sets it to a time before its own clock.
  await app.db.query(statement("", "update stations set known_since = '2026-01-01Z' where system_id = $1"), ["main"]);
  const at = new Date(app.clock()).toISOString();
  const { data, time_zone: zone } = stationMap.parse(await read(`?at=${at}`));
  expect(zone).toBe("UTC");
  expect(data.map(({ id }) => id)).toEqual(["a", "b", "new"]);
  expect(await read("?at=2020-01-01T00:00:00Z")).toMatchObject({ error: "outside_history" });
  const history = await read(`/b/history?from=${new Date(app.clock() - 3_600_000).toISOString()}&to=${at}`);
  consoleContract.systemStations.history.responses[200].parse(history);
  expect(await read("/nowhere/history")).toMatchObject({ error: "not_found" });
});

it("a partner's session is told nothing of the operator's map", async () => {
  const viewer = await signIn(app, { partnerId: app.partnerId });
  expect((await viewer.call("GET", "/console/v1/systems/main/stations")).status).toBe(404);
});
