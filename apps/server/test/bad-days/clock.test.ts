import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTestClock, serviceProgram } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { startReservationSweeper } from "../../src/city/fleet/reservation-commands.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { createProcessReports } from "../../src/health/checks/stored-checks.ts";
import { createConditions } from "../../src/health/conditions/conditions.ts";
import { createServiceClock, watchClock } from "../../src/health/conditions/service-clock.ts";
import { createMemoryRateLimits } from "../../src/http/rate-limits/rate-limits.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother } from "../built-app.ts";
import { until } from "../until.ts";

const HOUR = 3_600_000;
let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await startTestApp();
  key = (await app.issue()).key;
  const context = { db: app.db, clock: app.clock, ids: app.ids, actor: "test" };
  await upsertStations(context, app.systemId, [{ item: { id: "a", name: "a", lat: 1, lon: 2 } }]);
  const bikes = ["1", "2", "3"].map((id) => ({ item: { id, station_id: "a", vehicle_state: "available" as const } }));
  await upsertBikes(context, app.systemId, bikes);
});
afterAll(() => app.close());

const send = (url: string, method: string, path: string, body?: object, idempotencyKey?: string) =>
  fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body && { "content-type": "application/json" }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });

it("a clock that is set back or forth lets no key wait, and gives none more than its limit", async () => {
  const [clock, monotonic] = [createTestClock(), createTestClock()];
  const limited = (await app.issue({ rateLimit: 5 })).key;
  const built = await buildAnother({ ...app, clock }, { monotonic, rateLimits: createMemoryRateLimits(monotonic) });
  const ask = async () => {
    const response = await fetch(`${built.url}/v1/stations`, { headers: { authorization: `Bearer ${limited}` } });
    await response.arrayBuffer();
    return response.status;
  };
  const askSix = async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 6; n++) statuses.push(await ask());
    return statuses;
  };
  expect(await askSix()).toEqual([200, 200, 200, 200, 200, 429]);
  clock.advance(HOUR);
  expect(await ask()).toBe(429);
  clock.advance(-2 * HOUR);
  expect(await ask()).toBe(429);
  monotonic.advance(60_001);
  expect(await askSix()).toEqual([200, 200, 200, 200, 200, 429]);
  await built.close();
});

it("two processes whose clocks are an hour apart agree on what is stored: cursors, repeats, holds", async () => {
  const ahead = createTestClock();
  ahead.advance(app.clock() - ahead() + HOUR);
  const fast = await buildAnother({ ...app, clock: ahead });
  // Walks with a cursor of the other process, whose clock is different: a cursor contains a position and no time.
  const first = (await (await send(fast.url, "GET", "/v1/bikes?limit=1")).json()) as { next_cursor: string };
  const rest = (await (await send(app.url, "GET", `/v1/bikes?limit=5&cursor=${first.next_cursor}`)).json()) as {
    data: { id: string }[];
  };
  expect(rest.data.map(({ id }) => id)).toEqual(["2", "3"]);
  // Both processes recognise a repeated request.
  const body = { station_id: "a", rider_ref: "r" };
  const made = (await (await send(fast.url, "POST", "/v1/reservations", body, "once")).json()) as { id: string };
  const again = await send(app.url, "POST", "/v1/reservations", body, "once");
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
  expect(await again.json()).toEqual(made);
  // The end of the reservation was set by the clock that is ahead, so the sweeper of the process that is behind leaves the
  // reservation active.
  const sweeper = startReservationSweeper({
    ...app,
    systems: () => Promise.resolve([app.systemId]),
    onError: (error) => {
      throw error;
    },
  });
  await sweeper.runOnce();
  await sweeper.close();
  const shown = (await (await send(app.url, "GET", `/v1/reservations/${made.id}`)).json()) as { status: string };
  expect(shown.status).toBe("active");
  const cancelled = await send(app.url, "DELETE", `/v1/reservations/${made.id}`);
  expect([cancelled.status, ((await cancelled.json()) as { status: string }).status]).toEqual([200, "cancelled"]);
  await fast.close();
});

it("a command on a machine whose clock is an hour ahead goes by the database's: what it revokes is revoked at once", async () => {
  const ahead = `const now = Date.now; Date.now = () => now() + ${HOUR};`;
  const issued = await app.issue();
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-clock-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const args = ["--conditions=@bikeshare/source", "--import", `data:text/javascript,${ahead}`, await serviceProgram()];
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...args, "keys", "revoke", issued.id, "--json"],
    {
      env: {
        PATH: process.env["PATH"],
        DATABASE_URL: app.db.connectionString,
        DATA_DIR: directory,
      },
    },
  );
  const { revoked_at: at } = JSON.parse(stdout) as { revoked_at: string };
  expect(Date.parse(at)).toBeLessThan(Date.now() + HOUR / 2);
  expect(stderr).toMatch(/clock of this machine differs from the database's by 3600 s/);
});

it("a machine's clock that differs from the database's is reported, and not followed; nor is one that is set", async () => {
  const lines: string[] = [];
  const note = (_detail: object, message: string) => void lines.push(message);
  const conditions = createConditions({ monotonic: () => 0, log: { info: note, warn: note, error: note } });
  const reports = createProcessReports();
  let offsetMs = -HOUR;
  const monotonic = () => performance.now();
  const clock = createServiceClock(() => Date.now() + offsetMs, monotonic);
  const watch = watchClock(app.db, { clock, monotonic, conditions, reports });
  // On a busy machine the measurement is less exact, but never by as much as this limit.
  const expectRight = () => expect(Math.abs(clock.now() - Date.now())).toBeLessThan(HOUR / 60);
  await watch.runOnce();
  expectRight();
  expect(reports.list()).toMatchObject([
    {
      detail: expect.stringMatching(/^the clock .+ differs .+ by 3600 s: /) as string,
      fix: expect.stringMatching(/chrony/) as string,
    },
  ]);
  // Sets the clock forward by two hours. The service clock stays right, and the change is detected before the next
  // comparison is due.
  offsetMs = HOUR;
  expectRight();
  await until(() => !clock.wasSet());
  expectRight();
  expect(reports.list()).toHaveLength(1);
  offsetMs = 0;
  await until(() => reports.list().length === 0);
  expectRight();
  expect(reports.list()).toEqual([]);
  expect(lines).toEqual([expect.stringMatching(/differs/), "the clock agrees with the database's again"]);
  await watch.close();
});
