import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findFreePort, serviceProgram } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BikeShare } from "../../../../packages/sdk/src/client.ts";
import { PLATFORM, type Platform } from "../../../../packages/sdk/src/core/platform.ts";
import type { RateLimitDetails } from "../../../../packages/sdk/src/hooks.ts";
import { validateResponse } from "../../../../packages/sdk/src/validate.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { report } from "../guides/report.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "../rows.ts";
import { until } from "../until.ts";

/** The service as operators run it, in a separate process. */
interface Process {
  readonly url: string;
  /** Kills the process, as a crash does. */
  crash(): Promise<void>;
}

const main = await serviceProgram();
const children = new Set<ChildProcess>();
let app: TestApp;
let directory: string;

const numbered = (name: string, n: number) =>
  Array.from({ length: n }, (_, i) => `${name}-${String(i).padStart(3, "0")}`);
const stations = numbered("station", 120);
const rides = numbered("ride", 300);

beforeEach(async () => {
  app = await startTestApp();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-partner-"));
  const write = rowWriter(app);
  await write.stations(stations.map((id) => stationRow({ id })));
  await write.bikes([bikeRow({ id: "bike-1", station_id: "station-007" })]);
  const start = Date.parse("2026-05-01T08:00:00.000Z");
  const rows = rides.map((id, n) => rideRow({ id, started_at: new Date(start + n * 1000).toISOString() }));
  await write.rides(rows);
});
afterEach(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  children.clear();
  await app.close();
  await rm(directory, { recursive: true, force: true });
});

async function serve(port: string): Promise<Process> {
  const env = { ...process.env, DATABASE_URL: app.db.connectionString, DATA_DIR: directory, PORT: port };
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", "serve"], {
    env: { ...env, LOG_LEVEL: "error" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    crash: async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

it("a partner lists, holds, cancels and catches up though the service is killed twice: nothing twice, nothing left out", async () => {
  // A fixed free port instead of port 0: while the service is down, the system could give its port to another process.
  const port = String(await findFreePort());
  const first = await serve(port);
  let failures = 0;
  let back = Promise.withResolvers<void>();
  const client = new BikeShare({
    baseUrl: first.url,
    apiKey: (await app.issue()).key,
    validate: validateResponse,
    totalTimeoutMs: Infinity,
    // Delays each failure until the service is back, so that even a long restart costs the client few tries.
    fetch: (address, init) =>
      fetch(address, init).catch(async (error: unknown) => {
        failures++;
        await back.promise;
        throw error;
      }),
  });
  expect(await client.stations.list().toArray({ limit: Infinity })).toHaveLength(stations.length);
  expect(await client.bikes.list().toArray({ limit: Infinity })).toMatchObject([{ id: "bike-1" }]);

  // Kills the service in the middle of a walk, between two pages.
  const walk = client.rides.list({ limit: 50 })[Symbol.asyncIterator]();
  const seen: string[] = [];
  for (let step = 0; step < 100; step++) seen.push(String((await walk.next()).value?.id));
  await first.crash();
  const rest = (async () => {
    for await (const { id } of walk) seen.push(id);
  })();
  await until(() => failures > 0);
  const second = await serve(port);
  back.resolve();
  await rest;
  expect(seen).toEqual(rides.toReversed());

  // Kills the service during a reservation. Whether the request was read or not, exactly one bike must be reserved.
  back = Promise.withResolvers<void>();
  const holding = client.reservations.create({ station_id: "station-007", rider_ref: "r-1" });
  await second.crash();
  const third = await serve(port);
  back.resolve();
  const held = await holding;
  expect(held).toMatchObject({ bike_id: "bike-1", status: "active" });
  expect(await client.reservations.list().toArray({ limit: Infinity })).toMatchObject([{ id: held.id }]);

  expect(await client.reservations.cancel(held.id)).toMatchObject({ status: "cancelled", cancel_reason: "partner" });
  const operator = await app.issue({ partnerId: null, scopes: [] });
  await report(third.url, operator.key, "stations/offline", [{ id: "station-001" }]);
  let events = client.events.since(undefined);
  const received: string[] = [];
  await until(async () => {
    for await (const { event } of events) received.push(event);
    events = client.events.since(events.checkpoint());
    return received.includes("station.offline");
  });
  expect(received.toSorted((a, b) => a.localeCompare(b))).toEqual([
    "reservation.cancelled",
    "reservation.created",
    "station.offline",
  ]);
});

/** The longest delay of a timer, which the client uses for an infinite wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

it("a partner whose key others use up again and again waits as the service asks, and gets through", async () => {
  const { key } = await app.issue({ rateLimit: 20 });
  // Time passes only while the client waits, so that the other callers exhaust the limit even on a slow machine.
  const platform: Platform = {
    performance: { now: () => app.clock() },
    setTimeout: (run, ms) =>
      ms >= LONGEST_TIMER_MS
        ? undefined
        : setImmediate(() => {
            app.clock.advance(ms);
            run();
          }),
    clearTimeout: (id: NodeJS.Immediate | undefined) => clearImmediate(id),
    Math,
    crypto,
    fetch,
  };
  const notes: RateLimitDetails[] = [];
  const onRateLimit = (note: RateLimitDetails) => void notes.push(note);
  const timeouts = { totalTimeoutMs: Infinity, timeoutMs: Infinity, onRateLimit, [PLATFORM]: platform };
  const { url } = app;
  const client = new BikeShare({ baseUrl: url, apiKey: key, validate: validateResponse, ...timeouts });
  /** Sends requests as other callers until they are refused. */
  const storm = async () => {
    for (;;) {
      const response = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
      await response.arrayBuffer();
      if (response.status === 429) return;
    }
  };
  await storm();
  const found = await client.stations.list({ limit: 20 }).toArray({ limit: Infinity });
  await storm();
  const held = await client.reservations.create({ bike_id: "bike-1" });
  await storm();
  const cancelled = await client.reservations.cancel(held.id);
  expect([found.length, held.status, cancelled.status]).toEqual([stations.length, "active", "cancelled"]);
  // The client waits in advance once a response has shown the other callers. The first rejection it cannot foresee.
  expect(notes.map(({ reason }) => reason)).toContain("rejected");
  expect(await client.reservations.list().toArray({ limit: 10 })).toHaveLength(1);
});
