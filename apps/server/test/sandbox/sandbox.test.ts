import { deliveryNames, type EventRecord, scopeNames } from "@bikeshare/contract";
import {
  sandboxClock,
  sandboxEvent,
  sandboxScenario,
  sandboxScenarios,
  sandboxStatus,
} from "@bikeshare/contract/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SANDBOX_AWAKE_MS } from "../../src/city/systems/service.ts";
import { createSequencer } from "../../src/events/sequencer.ts";
import { createMetrics } from "../../src/health/metrics/registry.ts";
import { issueKey, keysOf, rotateKey } from "../../src/partners/keys/service.ts";
import { createPartner, partnersOf } from "../../src/partners/service.ts";
import { removePartner, suspendPartner } from "../../src/partners/suspend-or-remove.ts";
import { addFault, endFaults, takeFault } from "../../src/sandbox/faults.ts";
import { rideOnce, startEmptyingSandboxes, startSandboxRides } from "../../src/sandbox/riding.ts";
import { createSandbox, emptySandbox, resetSandbox } from "../../src/sandbox/service.ts";
import { openListener } from "../../src/storage/db/listener.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { THRESHOLD_EVENTS } from "../../src/webhooks/endpoints/endpoint-thresholds.ts";
import { startTestApp, type TestApp } from "../app.ts";
import { buildAnother, keyContext } from "../built-app.ts";
import { guarded } from "../endpoints.ts";
import { fillWorld } from "../walker-world.ts";

const DAY_MS = 86_400_000;
const fail = (error: unknown) => {
  throw error;
};

let app: TestApp;
let systemId: string;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  await fillWorld(app);
  ({ systemId, key } = await sandboxWithKey());
});
afterAll(() => app.close());

async function sandboxWithKey(of = app): Promise<{ systemId: string; key: string }> {
  const { sandbox } = await createSandbox(keyContext(of), { systemId: of.systemId, partnerId: of.partnerId });
  const input = { systemId: sandbox.system_id, partnerId: of.partnerId, scopes: scopeNames, rateLimit: 1_000_000 };
  const issued = await issueKey(keyContext(of), input);
  return { systemId: sandbox.system_id, key: issued.key };
}

const get = (path: string) => app.get(path, { key });
const post = (path: string, body: unknown, as = key) =>
  fetch(app.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const inSeconds = (seconds: number) => new Date(app.clock() + seconds * 1000).toISOString();

it("a rotated key without an expiry works until its overlap ends by the clock that is advanced", async () => {
  const context = keyContext(app);
  const input = { systemId, partnerId: app.partnerId, scopes: scopeNames, rateLimit: 1_000_000 };
  const old = await issueKey(context, input);
  await rotateKey(context, systemId, old.id, 600_000);
  const status = async () => (await app.get("/v1/me", { key: old.key })).status;
  await post("/sandbox/v1/clock/advance", { seconds: 60 });
  expect(await status()).toBe(200);
  await post("/sandbox/v1/clock/advance", { seconds: 541 });
  await expect.poll(status).toBe(401);
});

describe("a sandbox", () => {
  it("has 40 stations and 300 bikes, at the addresses of live data, and every answer says so", async () => {
    expect(key).toMatch(/^bss_test_/);
    const stations = await get("/v1/stations?limit=200");
    expect([stations.status, stations.headers.get("sandbox")]).toEqual([200, "true"]);
    expect(((await stations.json()) as { data: unknown[] }).data).toHaveLength(40);
    expect(sandboxStatus.parse(await (await get("/sandbox/v1")).json())).toMatchObject({ bikes: 300, rides: 0 });
    expect((await app.get("/v1/stations")).headers.get("sandbox")).toBeNull();
  });

  it("is one for each partner", async () => {
    const context = keyContext(app);
    const partner = { systemId: app.systemId, partnerId: app.partnerId };
    const made = await Promise.all([1, 2, 3].map(() => createSandbox(context, partner)));
    expect(new Set(made.map(({ sandbox }) => sandbox.system_id))).toEqual(new Set([systemId]));
    await expect(createSandbox(context, { ...partner, systemId })).rejects.toThrow(/is a sandbox itself/);
  });

  it("has no other partner", async () => {
    await expect(createPartner(keyContext(app), systemId, "Another")).rejects.toThrow(/and no other/);
    expect((await partnersOf(app, systemId)).map(({ id }) => id)).toEqual([app.partnerId]);
  });

  it("refuses live keys with 403", async () => {
    const { key: live } = await app.issue();
    for (const path of ["/sandbox/v1/reset", "/sandbox/v1/events/ride.completed"]) {
      const response = await post(path, {}, live);
      expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("bss_test_")]);
    }
    expect((await app.get("/sandbox/v1/unknown", { key: null })).status).toBe(401);
  });
});

describe("events", () => {
  // Without the events of thresholds, which need an endpoint with a threshold: thresholds.test.ts tests them.
  const others = deliveryNames.filter((name) => !THRESHOLD_EVENTS.includes(name));
  it.each(others)("%s is caused by what causes it", async (name) => {
    const response = await post(`/sandbox/v1/events/${name}`, {});
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.any(String)]);
    const caused = sandboxEvent.parse(JSON.parse(text));
    expect(caused.steps).not.toEqual([]);
    if (name === "station.updated" || name === "bike.state_changed") return;
    await createSequencer({ db: app.db, clock: app.clock, onError: () => undefined, pollIntervalMs: 0 }).runOnce(
      systemId,
    );
    const events = (await (await get(`/v1/events?event=${name}&limit=200`)).json()) as { data: EventRecord[] };
    expect(events.data.map(({ data }) => data.id)).toContain(caused.resource_id);
  });

  it("happen at the station that is named, and nowhere where it is unknown", async () => {
    const caused = sandboxEvent.parse(
      await (await post("/sandbox/v1/events/reservation.created", { station_id: "station-007" })).json(),
    );
    expect(caused.station_id).toBe("station-007");
    expect((await post("/sandbox/v1/events/ride.started", { station_id: "elsewhere" })).status).toBe(404);
  });
});

describe("scenarios", () => {
  const play = async (name: string) => {
    const response = await post(`/sandbox/v1/scenarios/${name}`, {});
    return sandboxScenario.parse(await response.json());
  };

  it.each(Object.keys(sandboxScenarios))("%s is played", async (name) => {
    expect((await play(name)).steps).not.toEqual([]);
  });

  it("that there are not are refused with the names of those that there are", async () => {
    const refused = (await (await post("/sandbox/v1/scenarios/nope", {})).json()) as { message: string };
    const names = Object.keys(sandboxScenarios).join(", ");
    expect(refused.message).toBe(`There is no such resource: the identifier in the path must be one of ${names}.`);
  });

  it("leave what they are about", async () => {
    const [broken] = (await play("bike-breaks-while-reserved")).steps;
    const reservation = await (await get(`/v1/reservations/${broken?.split(" ").at(-1) ?? ""}`)).json();
    expect(reservation).toMatchObject({ status: "cancelled", cancel_reason: "bike_unavailable" });
    const [late = ""] = (await play("late-report")).steps;
    const bike = await (await get(`/v1/bikes/${late.split(" ").at(-1) ?? ""}`)).json();
    expect(bike).toMatchObject({ vehicle_state: "available" });
    const { key: ending } = await play("key-expires");
    expect((await app.get("/v1/stations", { key: ending })).status).toBe(200);
    app.clock.advance(61_000);
    expect((await app.get("/v1/stations", { key: ending })).status).toBe(401);
    await post("/sandbox/v1/webhooks/faults", {});
  });
});

describe("faults", () => {
  const end = () =>
    fetch(`${app.url}/sandbox/v1/faults`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
  const isSuffered = async (status: number) => expect.poll(async () => (await get("/v1/me")).status).toBe(status);

  it("are met by the very next request, and by none after they have ended", async () => {
    for (let round = 0; round < 20; round++) {
      await post("/sandbox/v1/faults", { status: 503, count: 1 });
      expect([(await get("/v1/me")).status, (await get("/v1/me")).status]).toEqual([503, 200]);
      await post("/sandbox/v1/faults", { status: 500 });
      expect((await get("/v1/me")).status).toBe(500);
      await end();
      expect((await get("/v1/me")).status).toBe(200);
    }
  });

  it("that are ended while requests take some of them stay ended", async () => {
    const context = keyContext(app);
    const kept = statement("test.apiFaultsOfSandbox", "select faults from sandboxes where system_id = $1");
    for (let round = 0; round < 20; round++) {
      await addFault(context, systemId, { status: 500, share: 1, count: 100 });
      const taken = Array.from({ length: 5 }, () => takeFault(context, systemId, "GET /v1/me"));
      await Promise.all([...taken, endFaults(context, systemId)]);
      expect(await app.db.query(kept, [systemId])).toEqual([{ faults: null }]);
    }
  });

  it("exactly as many requests fail as asked for, of all that come at once, and no live one", async () => {
    await post("/sandbox/v1/faults", { status: 503, count: 4 });
    await isSuffered(503);
    const both = await Promise.all([1, 2, 3, 4, 5, 6].map(() => Promise.all([get("/v1/me"), app.get("/v1/me")])));
    const [mine, live] = [both.map(([a]) => a.status), both.map(([, b]) => b.status)];
    expect([mine.filter((status) => status === 503), new Set(live)]).toEqual([[503, 503, 503], new Set([200])]);
    await isSuffered(200);
  });

  it("are of a route, end by themselves, and leave the sandbox's own interface alone", async () => {
    await post("/sandbox/v1/faults", { status: 429, route: "GET /v1/stations/:id", until: inSeconds(60) });
    await expect.poll(async () => (await get("/v1/stations/station-001")).headers.get("retry-after")).toBe("2");
    const writer = () =>
      app.db.query(statement("test.writerOfSandbox", "select xmin from sandboxes where system_id = $1"), [systemId]);
    const before = await writer();
    expect([(await get("/v1/stations")).status, (await get("/sandbox/v1")).status]).toEqual([200, 200]);
    // A request without a fault writes nothing. A changed row would make every process reload the keys.
    expect(await writer()).toEqual(before);
    app.clock.advance(61_000);
    expect((await get("/v1/stations/station-001")).status).toBe(200);
    await end();
  });

  it("end sooner by the clock that is advanced, those of deliveries too", async () => {
    await post("/sandbox/v1/faults", { status: 500, route: "GET /v1/rides", until: inSeconds(600) });
    const down = { down: true, until: inSeconds(600) };
    await post("/sandbox/v1/webhooks/faults", down);
    await expect.poll(async () => (await get("/v1/rides")).status).toBe(500);
    const kept = statement("test.faultsOfSandbox", "select faults, webhook_faults from sandboxes where system_id = $1");
    await post("/sandbox/v1/clock/advance", { seconds: 400 });
    expect(await app.db.query(kept, [systemId])).toMatchObject([
      { faults: [{ until: inSeconds(200) }], webhook_faults: { until: inSeconds(200) } },
    ]);
    await post("/sandbox/v1/clock/advance", { seconds: 86_400 });
    expect(await app.db.query(kept, [systemId])).toMatchObject([
      { faults: null, webhook_faults: { until: inSeconds(0) } },
    ]);
    await expect.poll(async () => (await get("/v1/rides")).status).toBe(200);
    await post("/sandbox/v1/webhooks/faults", {});
  });

  it("answer nothing where a timeout is asked for", async () => {
    await post("/sandbox/v1/faults", { status: "timeout" });
    const isHanging = () =>
      fetch(`${app.url}/v1/me`, { headers: { authorization: `Bearer ${key}` }, signal: AbortSignal.timeout(300) }).then(
        () => false,
        () => true,
      );
    await expect.poll(isHanging, { timeout: 5_000 }).toBe(true);
    await end();
    await isSuffered(200);
  });

  it("600 requests a minute to a sandbox's own interface, with all its keys, do not use up what is tested", async () => {
    const apart = await startTestApp();
    const of = { ...(await sandboxWithKey(apart)), partnerId: apart.partnerId, scopes: scopeNames, rateLimit: 2 };
    const [{ key: one }, { key: two }] = [await issueKey(keyContext(apart), of), await issueKey(keyContext(apart), of)];
    const statuses: number[] = [];
    for (let request = 0; request <= 600; request++)
      statuses.push((await apart.get("/sandbox/v1/clock", { key: request % 2 === 0 ? one : two })).status);
    expect([statuses.filter((status) => status === 200).length, statuses.at(-1)]).toEqual([600, 429]);
    expect((await apart.get("/v1/me", { key: one })).status).toBe(200);
    await apart.close();
  });

  it("neither count in the operator's metrics of requests nor are logged as errors of the service", async () => {
    const metrics = createMetrics({ version: "1" });
    const process = await buildAnother(app, { metrics: metrics.http });
    const counted = async () =>
      (await metrics.text()).split("\n").filter((line) => line.startsWith("bikeshare_http_request"));
    const ask = (as: string) => fetch(`${process.url}/v1/me`, { headers: { authorization: `Bearer ${as}` } });
    const { key: live } = await app.issue();
    await ask(live);
    const before = await counted();
    expect(before).not.toEqual([]);
    await post("/sandbox/v1/faults", { status: 500 });
    await expect.poll(async () => (await ask(key)).status).toBe(500);
    expect(await counted()).toEqual(before);
    expect(process.logged.map(({ msg }) => msg)).not.toContain("request failed");
    await end();
    await process.close();
  });

  it("are of a route as long as there are, so that each request reads little", async () => {
    const route = `GET /v1/${"a".repeat(101)}`;
    expect((await post("/sandbox/v1/faults", { status: 503, route })).status).toBe(400);
  });

  it("are at most ten", async () => {
    const statuses: number[] = [];
    for (let fault = 0; fault < 11; fault++)
      statuses.push((await post("/sandbox/v1/faults", { status: 500, route: "GET /v1/rides" })).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 409]);
    await end();
  });
});

describe("reset", () => {
  const cityOf = async (): Promise<string> => {
    const texts = await Promise.all(
      ["stations", "bikes", "rides", "reservations", "alerts"].map(async (list) => {
        let text = "";
        for (let page = 1; page <= (list === "bikes" ? 2 : 1); page++)
          text += await (await get(`/v1/${list}?limit=200&page=${page}`)).text();
        return text;
      }),
    );
    return texts.join("\n");
  };

  it("makes the same city of the same seed, byte for byte, whatever happened in between", async () => {
    expect((await post("/sandbox/v1/reset", { seed: 7 })).status).toBe(200);
    const first = await cityOf();
    for (const name of deliveryNames) await post(`/sandbox/v1/events/${name}`, {});
    await rideOnce(keyContext(app), systemId);
    app.clock.advance(86_400_000);
    expect(await cityOf()).not.toBe(first);
    expect(sandboxStatus.parse(await (await post("/sandbox/v1/reset", {})).json())).toMatchObject({
      seed: 7,
      rides: 0,
    });
    expect(await cityOf()).toBe(first);
    await post("/sandbox/v1/reset", { seed: 8 });
    expect(await cityOf()).not.toBe(first);
  });
});

describe("isolation", () => {
  it("a test key reads nothing of live data by any route, and a live key nothing of a sandbox", async () => {
    const live = await app.issue();
    const reads = guarded.filter(({ method, scope }) => method === "GET" && scope !== "operator");
    for (const { path, query } of reads) {
      const [mine, theirs] = await Promise.all([get(path + query), app.get(path + query, { key: live.key })]);
      const [sandboxText, liveText] = [await mine.text(), await theirs.text()];
      // The live data has what this path names, the sandbox has not. The sandbox's response may at most repeat the request.
      if (path.includes("sample-1")) expect([path, mine.status]).toEqual([path, 404]);
      else expect([path, sandboxText.includes("sample-1")]).toEqual([path, false]);
      expect([path, liveText.includes("station-007")]).toEqual([path, false]);
    }
  });

  it("is emptied after 30 days without a use, and made anew with the next", async () => {
    const context = keyContext(app);
    const emptying = startEmptyingSandboxes({ ...context, onError: fail });
    const riding = startSandboxRides({ ...context, onError: fail });
    app.clock.advance(29 * DAY_MS);
    expect(await emptying.runOnce()).toBe(0);
    app.clock.advance(2 * DAY_MS);
    expect(await emptying.runOnce()).toBe(1);
    await riding.runOnce();
    expect(sandboxStatus.parse(await (await get("/sandbox/v1")).json())).toMatchObject({ stations: 0, bikes: 0 });
    await riding.runOnce();
    expect(sandboxStatus.parse(await (await get("/sandbox/v1")).json())).toMatchObject({ stations: 40, bikes: 300 });
    await emptying.close();
    await riding.close();
  });

  it("one ride starts a minute while it is used, whatever the number of processes, and none while it sleeps", async () => {
    const context = keyContext(app);
    const processes = [1, 2, 3].map(() => startSandboxRides({ ...context, onError: fail }));
    const runAll = () => Promise.all(processes.map((process) => process.runOnce()));
    const ridesNow = async () => sandboxStatus.parse(await (await get("/sandbox/v1")).json()).rides;
    const before = await ridesNow();
    for (let minute = 0; minute < 5; minute++) {
      app.clock.advance(60_000);
      await runAll();
    }
    expect((await ridesNow()) - before).toBe(5);
    app.clock.advance(SANDBOX_AWAKE_MS + 120_000);
    await runAll();
    expect((await ridesNow()) - before).toBe(5);
    await Promise.all(processes.map((process) => process.close()));
  });

  it("whose stations are all offline, and whose bikes are broken, is no failure of the service: its time passes", async () => {
    const started = sandboxEvent.parse(await (await post("/sandbox/v1/events/ride.started", {})).json());
    for (let station = 1; station <= 40; station++) {
      const id = `station-${String(station).padStart(3, "0")}`;
      await post("/sandbox/v1/events/station.offline", { station_id: id });
    }
    const before = sandboxClock.parse(await (await get("/sandbox/v1/clock")).json()).advanced_seconds;
    const passed = await post("/sandbox/v1/clock/advance", { seconds: 86_400 });
    expect([passed.status, sandboxClock.parse(await passed.json()).advanced_seconds - before]).toEqual([202, 86_400]);
    const riding = startSandboxRides({ ...keyContext(app), onError: fail });
    app.clock.advance(61_000);
    await riding.runOnce();
    await riding.close();
    // The ride ends as soon as a station is online at which it can end.
    expect(await (await get(`/v1/rides/${started.resource_id}`)).json()).toMatchObject({ status: "started" });
    await post("/sandbox/v1/events/station.online", { station_id: "station-001" });
    await post("/sandbox/v1/clock/advance", { seconds: 86_400 });
    expect(await (await get(`/v1/rides/${started.resource_id}`)).json()).toMatchObject({ status: "completed" });
  });

  it("keeps no answer to a request when it is emptied", async () => {
    await resetSandbox(keyContext(app), systemId);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "kept" };
    const body = JSON.stringify({ station_id: "station-001", rider_ref: "rider-7" });
    const made = await fetch(`${app.url}/v1/reservations`, { method: "POST", headers, body });
    expect(made.status).toBe(201);
    const answers = () =>
      app.db.query(statement("test.answers", "select body from idempotency_keys where system_id = $1"), [systemId]);
    expect(await answers()).not.toEqual([]);
    await emptySandbox(keyContext(app), systemId);
    expect(await answers()).toEqual([]);
    await resetSandbox(keyContext(app), systemId);
  });

  it("has no faults any more once it is emptied or reset, of which every process hears", async () => {
    for (const end of [emptySandbox, resetSandbox]) {
      await addFault(keyContext(app), systemId, { status: 500, share: 1 });
      const heard = new Set<string>();
      const hear = (channel: string) => (id: string) => void (id === systemId && heard.add(channel));
      const listener = openListener({
        connectionString: app.db.connectionString,
        notifier: app.db,
        on: { keys: hear("keys"), webhook_endpoints: hear("webhook_endpoints") },
        // Notifications may be lost then. The test does not fail for it.
        onGap: () => ["keys", "webhook_endpoints"].forEach((channel) => hear(channel)(systemId)),
      });
      await expect.poll(() => listener.listening()).toBe(true);
      heard.clear();
      await end(keyContext(app), systemId);
      await expect.poll(() => heard).toEqual(new Set(["keys", "webhook_endpoints"]));
      await listener.close();
    }
  });

  it("ends for the partner when the operator suspends it", async () => {
    await suspendPartner(keyContext(app), app.systemId, app.partnerId);
    await expect.poll(async () => (await get("/v1/stations")).status, { timeout: 5_000 }).toBe(401);
  });

  it("goes with its partner: keys, endpoints and city", async () => {
    await removePartner(keyContext(app), app.systemId, app.partnerId);
    const emptying = startEmptyingSandboxes({ ...keyContext(app), onError: fail });
    expect(await emptying.runOnce()).toBe(1);
    await emptying.close();
    const keys = await keysOf(app, systemId, app.partnerId);
    expect(keys.map(({ revoked_at }) => revoked_at)).not.toContain(null);
  });
});
