import {
  consoleContract,
  type PartnerOverview,
  type ShownCheck,
  type SystemOverview,
} from "@bikeshare/contract/console";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../test/app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { addSystem } from "../city/systems/service.ts";
import { afterFailure, UNKNOWN_HEALTH } from "../feeds/gbfs/feed-health.rules.ts";
import { updateFeedHealth, updateSourceHealth } from "../feeds/gbfs/health-queries.ts";
import { revokeKey } from "../partners/keys/service.ts";
import { openRequestLog } from "../partners/request-log/service.ts";
import { createPartner } from "../partners/service.ts";
import { suspendPartner } from "../partners/suspend-or-remove.ts";
import { statement } from "../storage/db/statement.ts";

let app: TestApp;
let viewer: SignedIn;
let operator: SignedIn;
let otherPartner: string;
let busy: string;
let revoked: string;
let suspended: string;

const { feeds, partnerOverview, systemOverview } = consoleContract;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

// Sets up a partner with an endpoint that has failed all night and with a key of 10 requests a minute that was refused
// twice. Another partner uses a revoked key. A third one was suspended after a request of its had failed.
beforeAll(async () => {
  app = await startTestApp();
  viewer = await signIn(app, { partnerId: app.partnerId, role: "viewer" });
  operator = await signIn(app, { partnerId: null, role: "viewer" });
  const context = { ...app, actor: "test" };
  otherPartner = (await createPartner(context, app.systemId, "Other")).id;
  busy = (await app.issue({ name: "Busy", rateLimit: 10, expiresAt: new Date(app.clock() + 5 * DAY_MS) })).id;
  revoked = (await app.issue({ partnerId: otherPartner })).id;
  await revokeKey(context, app.systemId, revoked);
  suspended = (await createPartner(context, app.systemId, "Suspended")).id;
  const beforeSuspension = (await app.issue({ partnerId: suspended })).id;
  await suspendPartner(context, app.systemId, suspended);
  await logRequests(beforeSuspension);
  await insertWebhooks();
});
afterAll(() => app.close());

async function logRequests(beforeSuspension: string): Promise<void> {
  const log = openRequestLog({ db: app.db, onUnlogged: () => undefined, onError: () => undefined });
  const add = (keyId: string, partnerId: string, ago: number, status: number) =>
    log.record({
      ...{ systemId: app.systemId, id: app.ids.next("req"), at: app.clock() - ago, keyId, partnerId },
      ...{ method: "GET", route: "/v1/rides", status, error: status < 400 ? null : "rate_limited" },
      ...{ ms: 1, address: "192.0.2.1" },
    });
  for (let n = 0; n < 10; n++) add(busy, app.partnerId, 5 * MINUTE_MS, 200);
  for (let n = 0; n < 2; n++) add(busy, app.partnerId, 5 * MINUTE_MS, 429);
  add(busy, app.partnerId, 2 * HOUR_MS, 200);
  for (let n = 0; n < 3; n++) add(revoked, otherPartner, 0, 401);
  add(beforeSuspension, suspended, 20 * MINUTE_MS, 404);
  await log.close();
}

/**
 * Inserts deliveries: three succeeded, two were created days ago and given up tonight, one was given up before, one fails,
 * one is held.
 */
async function insertWebhooks(): Promise<void> {
  const run = (name: string, text: string, values: readonly unknown[]) =>
    app.db.query({ name: `test.${name}`, text }, [app.systemId, ...values]);
  const ago = (ms: number) => new Date(app.clock() - ms);
  await run(
    "endpoint",
    `insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, created_at, updated_at)
     values ($1, 'endpoint_1', $2, 'tag001', 'https://partner.example/hooks', '{ride.started}', 'active', $3, $3)`,
    [app.partnerId, ago(9 * DAY_MS)],
  );
  await run(
    "lane",
    `insert into webhook_lanes (system_id, endpoint_id, failing_since, failures) values ($1, 'endpoint_1', $2, 7)`,
    [ago(8 * HOUR_MS)],
  );
  const rows = [
    ...[1, 2, 3].map(() => ["succeeded", null, HOUR_MS, HOUR_MS] as const),
    ["succeeded", null, 2 * DAY_MS, 2 * DAY_MS] as const,
    ["failed", "timeout", 3 * DAY_MS, 5 * HOUR_MS] as const,
    ["failed", "timeout", 4 * DAY_MS, 6 * HOUR_MS] as const,
    ["failed", "dns", 9 * DAY_MS, 6 * DAY_MS] as const,
    ["pending", "http_5xx", HOUR_MS, null] as const,
    ["held", null, HOUR_MS, null] as const,
  ];
  for (const [index, [status, failure, created, finished]] of rows.entries()) {
    await run(
      "delivery",
      `insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status,
         attempts, latest_failure, finished_at)
       values ($1, $2::timestamptz::date, $3, 'endpoint_1', $3, 'ride.started', $2, $4, 1, $5, $6)`,
      [ago(created), `delivery_${index}`, status, failure, finished === null ? null : ago(finished)],
    );
  }
  await run(
    "queue",
    `insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
     select system_id, id, endpoint_id, created_on, event_id, $2 from webhook_deliveries
     where system_id = $1 and status = 'pending'`,
    [ago(-HOUR_MS)],
  );
}

const system = () => `/console/v1/systems/${app.systemId}`;
const partner = (id = app.partnerId) => `${system()}/partners/${id}`;

async function read(who: SignedIn, path: string): Promise<unknown> {
  const response = await who.call("GET", `${path}/overview`);
  expect(response.status, path).toBe(200);
  return response.json();
}
const partnerSees = async (who = viewer, id?: string): Promise<PartnerOverview> =>
  partnerOverview.get.responses[200].parse(await read(who, partner(id)));
const operatorSees = async (): Promise<SystemOverview> =>
  systemOverview.get.responses[200].parse(await read(operator, system()));
const named = (checks: readonly ShownCheck[], name: string) => checks.find((each) => each.name === name);

it("a partner sees each key's requests by minute against its limit, and what failed in the hour and today", async () => {
  const { minutes, keys, hour, today } = await partnerSees();
  const load = keys.find(({ id }) => id === busy);
  expect(load).toMatchObject({ name: "Busy", rate_limit: 10, rate_limited: 2 });
  const called = new Date(Math.floor((app.clock() - 5 * MINUTE_MS) / MINUTE_MS) * MINUTE_MS).toISOString();
  expect(load?.requests.map((requests, index) => [minutes[index], requests]).filter(([, n]) => n !== 0)).toEqual([
    [called, 12],
  ]);
  expect([minutes.length, keys[0]?.id]).toEqual([60, busy]);
  expect(hour).toEqual({ requests: 12, client_errors: 0, server_errors: 0, rate_limited: 2 });
  const isSameDay = new Date(app.clock() - 2 * HOUR_MS).getUTCDate() === new Date(app.clock()).getUTCDate();
  expect(today.requests).toBe(isSameDay ? 13 : 12);
});

it("deliveries that were given up tonight count, however long ago they were created", async () => {
  const { endpoints, checks } = await partnerSees();
  const deliveries = { succeeded: 3, given_up: 2, pending: 1, failing: 1, held: 1, is_complete: true };
  expect(endpoints).toMatchObject([
    { name: "Main", status: "active", url: "https://partner.example/hooks", deliveries },
  ]);
  const givenUp = named(checks, "webhooks given up");
  expect(givenUp).toMatchObject({
    severity: "failure",
    text: "2 deliveries were given up in the last 24 hours, mostly because of timeouts.",
    link: { page: "deliveries", query: { status: "failed" } },
  });
  // The link finds the two that were given up tonight, and not the one that was given up before.
  expect(givenUp?.link?.query["since"]).toBe(new Date(app.clock() - 4 * DAY_MS).toISOString());
});

it("each check says what is wrong, what to do and where, the worst first", async () => {
  const { checks } = await partnerSees();
  expect(checks.map(({ severity }) => severity)).toEqual(
    checks.map(({ severity }) => severity).toSorted((one, other) => (one < other ? -1 : Number(one > other))),
  );
  expect(checks.map(({ name }) => name).toSorted()).toEqual([
    "expiring keys",
    "held webhooks",
    "rate-limited keys",
    "webhook failing",
    "webhooks given up",
    "workers",
  ]);
  expect(named(checks, "rate-limited keys")).toMatchObject({
    text:
      "Key “Busy” (…" +
      lastFourOf(checks) +
      ") came to its limit of 10 requests a minute: 2 requests were refused in the last hour.",
    link: { page: "requests", query: { key_id: busy, error: "rate_limited" } },
  });
  expect(named(checks, "expiring keys")?.text).toMatch(/expires in 5 days\.$/);
  expect(named(checks, "webhook failing")?.at).toBe(new Date(app.clock() - 8 * HOUR_MS).toISOString());
});

function lastFourOf(checks: readonly ShownCheck[]): string {
  return /\(…(.{4})\)/.exec(named(checks, "rate-limited keys")?.text ?? "")?.[1] ?? "";
}

it("the operator sees where stations come from, and that a process that followed them has stopped", async () => {
  const run = (text: string, values: readonly unknown[]) => app.db.query({ name: "", text }, [app.systemId, ...values]);
  const polledAt = new Date(app.clock() - HOUR_MS);
  await updateSourceHealth(app.db, {
    ...{ systemId: app.systemId, source: "gbfs", now: polledAt.getTime() },
    ...{ location: "https://feeds.example/gbfs.json", intervalMs: 30_000, message: null },
  });
  const failed = afterFailure(UNKNOWN_HEALTH, {
    ...{ now: polledAt.getTime(), message: "HTTP 404 from https://feeds.example/s.json" },
    ...{ retryAfterMs: null, intervalMs: 30_000 },
  });
  const scope = { systemId: app.systemId, source: "gbfs", now: polledAt.getTime() };
  await updateFeedHealth(app.db, scope, new Map([["station_status", failed]]));
  await run(
    `insert into stations (system_id, id, name, lat, lon, is_installed, is_renting, is_returning, status, updated_at,
       source, counters, absent_snapshots, status_as_of)
     select $1, 'station-' || i, 'Station ' || i, 1, 1, true, true, true, 'online', $2, source, 'mirrored', absent, $2
     from (values (1, 'gbfs', 0), (2, 'gbfs', 1), (3, 'trips', 0)) as made (i, source, absent)`,
    [polledAt],
  );
  const { data } = feeds.list.responses[200].parse(await (await operator.call("GET", `${system()}/feeds`)).json());
  expect(data).toMatchObject([
    {
      ...{ source: "gbfs", state: "silent", interval_seconds: 30, location: "https://feeds.example/gbfs.json" },
      ...{ stations: { online: 2 }, bikes: 0, polled_at: polledAt.toISOString() },
      missing: [{ id: "station-2", absent_snapshots: 1, last_listed_at: polledAt.toISOString() }],
      feeds: [{ feed: "station_status", failures: 1, advice: expect.stringMatching(/not there any more/) as string }],
    },
    { source: "trips", state: "no_feed", stations: { online: 1 }, missing: [] },
  ]);
  const { checks } = await operatorSees();
  expect(named(checks, "feeds")).toMatchObject({ severity: "failure", link: { page: "feeds" } });
});

it("a partner without an address is told so, and sees nothing of others", async () => {
  const other = await signIn(app, { partnerId: otherPartner });
  const overview = await partnerSees(other, otherPartner);
  expect(overview.checks.map(({ name }) => name)).toEqual(["webhook address"]);
  expect(overview).toMatchObject({ endpoints: [], keys: [] });
  expect(JSON.stringify(overview)).not.toContain(busy);
  expect((await other.call("GET", `${partner()}/overview`)).status).toBe(404);
  expect((await viewer.call("GET", `${system()}/overview`)).status).toBe(404);
});

it("the operator sees whose keys and endpoints need attention, what waits, and which keys are used although they are refused", async () => {
  const { checks, hour, backlog, endpoints, workers, refused, requests } = await operatorSees();
  expect(hour).toEqual({ requests: 16, client_errors: 4, server_errors: 0, rate_limited: 2 });
  expect(requests.reduce((sum, each) => sum + each, 0)).toBe(16);
  expect({ backlog: { ...backlog, oldest_due_at: undefined }, endpoints, workers }).toEqual({
    backlog: { pending: 1, held: 1, is_complete: true, oldest_due_at: undefined },
    endpoints: { active: 0, failing: 1, paused: 0 },
    workers: 0,
  });
  expect(refused).toMatchObject([{ key_id: revoked, partner_name: "Other", reason: "revoked", requests: 3 }]);
  expect(named(checks, "webhook failing")?.partner_name).toBe("Journey Planner");
  expect(named(checks, "refused keys")?.link).toMatchObject({ page: "requests", query: { key_id: revoked } });
  expect(await partnerSees(operator)).toMatchObject({ hour: { requests: 12 } });
});

it("the operator sees how many rides of the system are under way for too long, and is led to them", async () => {
  expect(named((await operatorSees()).checks, "long rides")).toBeUndefined();
  const ago = (ms: number) => new Date(app.clock() - ms);
  await addSystem({ ...app, actor: "test" }, "elsewhere", "Elsewhere");
  const started = [
    [app.systemId, "old", 30 * HOUR_MS],
    [app.systemId, "older", 40 * HOUR_MS],
    [app.systemId, "young", HOUR_MS],
    ["elsewhere", "old", 30 * HOUR_MS],
  ] as const;
  for (const [systemId, id, ms] of started)
    await app.db.query(
      statement(
        "test.longRide",
        `insert into rides (system_id, id, bike_id, status, started_at, updated_at, source)
         values ($1, $2, $2, 'started', $3, $3, 'test')`,
      ),
      [systemId, id, ago(ms)],
    );
  expect(named((await operatorSees()).checks, "long rides")).toMatchObject({
    severity: "warning",
    text: expect.stringMatching(
      /^2 rides of main are under way for longer than 24 h, .+: their bikes are hidden\.$/,
    ) as string,
    at: ago(40 * HOUR_MS).toISOString(),
    link: { page: "rides", query: { status: "started", started_before: ago(DAY_MS).toISOString() } },
  });
});

it("an admin of the operator acknowledges what a check has found, and takes it back; nobody else does, and nobody by reading", async () => {
  const admin = await signIn(app, { partnerId: null, role: "admin" });
  const partnerAdmin = await signIn(app, { partnerId: app.partnerId, role: "admin" });
  const rides = { name: "long rides", of: app.systemId, subject: "" };
  const body = { ...rides, severity: "warning", until: null };
  const acknowledge = async (who: SignedIn, systemId = app.systemId, sent: object = body) =>
    (await who.call("POST", `/console/v1/systems/${systemId}/checks/acknowledge`, sent)).status;
  expect(await acknowledge(operator)).toBe(403);
  expect(await acknowledge(partnerAdmin)).toBe(404);
  expect(await acknowledge(admin, "elsewhere")).toBe(404);
  expect(await acknowledge(admin, app.systemId, { ...body, of: "elsewhere" })).toBe(404);
  expect((await admin.call("GET", `${system()}/checks/acknowledge`)).status).not.toBe(200);
  expect(named((await operatorSees()).checks, "long rides")?.acknowledged).toBeNull();
  expect(await acknowledge(admin)).toBe(200);
  const { checks } = await operatorSees();
  expect(named(checks, "long rides")).toMatchObject({ acknowledged: { until: null }, severity: "warning" });
  // Acknowledged checks are still listed, after all others.
  const first = checks.findIndex(({ acknowledged }) => acknowledged !== null);
  expect(checks.slice(first).every(({ acknowledged }) => acknowledged !== null)).toBe(true);
  const taken = await admin.call("POST", `${system()}/checks/unacknowledge`, rides);
  expect(await taken.json()).toEqual({ changed: true });
  expect(named((await operatorSees()).checks, "long rides")?.acknowledged).toBeNull();
});
