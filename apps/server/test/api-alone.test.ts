import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { upsertBikes } from "../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { readConfig } from "../src/config.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { serve, type Service } from "../src/runtime/serve.ts";
import { keyContext } from "./built-app.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { until } from "./until.ts";

let database: TestDatabase;
let directory: string;
let service: Service;
let key: string;
const clock = createTestClock();
const ids = createTestIds();

beforeAll(async () => {
  database = await createTestDatabase();
  const { db, systemId } = database;
  directory = await mkdtemp(join(tmpdir(), "bikeshare-api-"));
  const env = {
    DATABASE_URL: db.connectionString,
    DATA_DIR: directory,
    PORT: "0",
    LOG_LEVEL: "silent",
    DRAIN_DELAY: "0s",
  };
  service = await serve({
    config: readConfig(env, directory),
    clock,
    ids,
    resolveSystem: () => Promise.resolve(systemId),
    role: "api",
  });
  const context = { db, clock, ids };
  await upsertStations(context, systemId, [{ item: { id: "s", name: "S", lat: 1, lon: 2 } }]);
  await upsertBikes(context, systemId, [{ item: { id: "b", station_id: "s" } }]);
  const partner = await createPartner(keyContext(context), systemId, "Partner");
  const scopes = ["stations:read", "bikes:read", "reservations:read", "reservations:write"] as const;
  ({ key } = await issueKey(keyContext(context), {
    systemId,

    partnerId: partner.id,
    scopes: [...scopes],
    rateLimit: 1_000_000,
  }));
});
afterAll(async () => {
  await service.close();
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

async function get(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()) as Record<string, unknown>;
}

/** Reads what every list and feed says about the only bike. */
async function seen(reservationId: string) {
  const station = await get("/v1/stations/s");
  const feed = (await get("/gbfs/main/2.3/station_status.json")) as {
    data: { stations: { num_bikes_available: number }[] };
  };
  return {
    reservation: (await get(`/v1/reservations/${reservationId}`))["status"],
    bike: (await get("/v1/bikes/b"))["vehicle_state"],
    counters: [station["num_bikes_available"], station["num_bikes_reserved"]],
    feed: feed.data.stations.map((each) => each.num_bikes_available),
  };
}

it("with no worker beside it, readers of bikes, stations and feeds see what a reservation held as free once it has expired", async () => {
  const response = await fetch(`${service.url}/v1/reservations`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ bike_id: "b", hold_minutes: 1 }),
  });
  const { id } = (await response.json()) as { id: string };
  expect(await seen(id)).toEqual({ reservation: "active", bike: "reserved", counters: [0, 1], feed: [0] });
  clock.advance(60_000);
  // The API process expires the reservation itself, within about a second.
  await until(async () => {
    // The service serves a cached feed for two seconds, so the clock must advance beyond that.
    clock.advance(100);
    return (await seen(id)).feed[0] === 1;
  });
  expect(await seen(id)).toEqual({ reservation: "expired", bike: "available", counters: [1, 0], feed: [1] });
});
