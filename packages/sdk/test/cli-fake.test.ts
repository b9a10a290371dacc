import { afterEach, expect, it } from "vitest";
import { verify } from "../src/webhooks.ts";
import { type Received, type Run, run, startServer, type TestServer, until } from "./cli.harness.ts";

const SECRET = "whsec_of_a_test";
const running = new Set<Run>();
const servers = new Set<TestServer>();

afterEach(async () => {
  for (const each of running) {
    each.stop();
    expect(await each.ended).toBe(0);
  }
  for (const server of servers) await server.close();
  running.clear();
  servers.clear();
});

/** Starts the command `fake`, and returns functions that call it over HTTP, as a program in another language does. */
async function startFake(...args: string[]) {
  // The program's clock only moves when the test moves it.
  const started = run(["fake", "--port", "0", "--json", ...args], { BIKESHARE_WEBHOOK_SECRET: SECRET }, {});
  running.add(started);
  await until(() => started.stdout().includes("\n"));
  const { url, key } = started.lines()[0] as { url: string; key: string };
  const call = async (method: string, path: string, body?: unknown) => {
    const text = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(url + path, { method, body: text, headers: { authorization: `Bearer ${key}` } });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return {
    started,
    get: (path: string) => call("GET", path),
    tell: (path: string, body: unknown = {}) => call("POST", `/fake${path}`, body),
    remove: (path: string, body?: unknown) => call("DELETE", `/fake${path}`, body),
    reserve: (body: object) =>
      fetch(`${url}/v1/reservations`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      }),
  };
}

async function startReceiver(answer: (request: Received) => { status: number }): Promise<TestServer> {
  const receiver = await startServer(answer);
  servers.add(receiver);
  return receiver;
}

it("answers as the service does, with a city in it", async () => {
  const { get } = await startFake();
  const { status, headers, body } = await get("/v1/stations?limit=2");
  expect(status).toBe(200);
  expect(headers.get("ratelimit-policy")).toBe('"default";q=60;w=60');
  expect(body).toMatchObject({ data: [{ id: "station_001" }, { id: "station_002" }], page: 1, total_pages: 3 });
});

it("fails as it is told to, for the requests that it is told of, and then no more", async () => {
  const { get, tell, remove, reserve } = await startFake();
  expect(await tell("/script", { answers: [503, { status: 429, retryAfter: 7 }, "reset"] })).toMatchObject({
    body: { left: 3 },
  });
  expect((await get("/v1/stations")).status).toBe(503);
  const limited = await get("/v1/stations");
  expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
  await expect(get("/v1/stations")).rejects.toThrow("fetch failed");
  expect((await get("/v1/stations")).status).toBe(200);
  await tell("/script", { answers: ["lost"], match: "POST /v1/reservations", repeat: true });
  expect((await get("/v1/stations")).status).toBe(200);
  await expect(reserve({ bike_id: "bike_001" })).rejects.toThrow("fetch failed");
  await remove("/script");
  expect((await reserve({ bike_id: "bike_001" })).status).toBe(409);
});

it("moves its clock, its stations, its rides and its keys as it is told to", async () => {
  const { get, tell, remove, reserve } = await startFake();
  const held = (await (await reserve({ bike_id: "bike_002", hold_minutes: 5 })).json()) as { id: string };
  await tell("/advance", { ms: 5 * 60_000 });
  expect((await get(`/v1/reservations/${held.id}`)).body).toMatchObject({ status: "expired" });
  expect((await tell("/rides/start", { id: "r", bike_id: "bike_001" })).body).toMatchObject({ status: "started" });
  await tell("/rides/end", { id: "r", end_station_id: "station_003" });
  expect((await get("/v1/bikes/bike_001")).body).toMatchObject({ station_id: "station_003" });
  await tell("/stations/offline", { id: "station_003" });
  expect((await get("/v1/stations/station_003")).body).toMatchObject({ status: "offline" });
  const { key } = (await tell("/keys", { scopes: ["rides:read"] })).body as { key: string };
  expect(await remove("/keys", { key })).toMatchObject({ status: 200 });
  expect((await remove("/keys", { key: "bss_test_none" })).status).toBe(400);
  const seen = (await get("/fake/requests")).body as { data: { operation: string; status: number }[] };
  expect(seen.data[0]).toMatchObject({ operation: "POST /v1/reservations", status: 201 });
});

it("posts each event to a receiver, signed, until it is accepted, and an example when it is told to", async () => {
  const statuses = [500, 200];
  const receiver = await startReceiver(() => ({ status: statuses.shift() ?? 200 }));
  const { tell, started } = await startFake("--webhook-url", `${receiver.url}/hooks`);
  await tell("/rides/start", { id: "r", bike_id: "bike_001" });
  await until(() => receiver.received.length === 2);
  for (const { body, headers } of receiver.received) {
    // The receiver uses the time of sending, because the program's clock is ahead of this machine's.
    const now = () => Date.parse((JSON.parse(body) as { sent_at: string }).sent_at);
    const delivery = await verify(body, String(headers["service-signature"]), SECRET, { now });
    expect(delivery).toMatchObject({ event: "ride.started", data: { id: "r" } });
  }
  expect(started.stdout()).not.toContain(SECRET);
  // Moving the fake's clock does not move the receiver's clock.
  await tell("/advance", { ms: 3_600_000 });
  const askedAt = started.clock();
  const example = await tell("/webhooks", { event: "bike.state_changed", deliveryId: "delivery_x" });
  expect(example.body).toEqual({ status: 200, body: "" });
  const sent = receiver.received.at(-1);
  expect(sent?.body).toContain('"delivery_id":"delivery_x"');
  const [, signedAt] = /^t=(\d+)/.exec(String(sent?.headers["service-signature"])) ?? [];
  expect(Number(signedAt)).toBeGreaterThanOrEqual(Math.floor(askedAt / 1000));
  expect(Number(signedAt)).toBeLessThanOrEqual(started.clock() / 1000);
  await tell("/events", { event: "ride.stolen" });
  await until(() => receiver.received.some(({ body }) => body.includes("ride.stolen")));
});

it("says what it can be told, and what is wrong with what it was told", async () => {
  const { get, tell } = await startFake();
  expect((await get("/fake")).body).toMatchObject({
    requests: expect.arrayContaining(["POST /fake/advance"]) as string[],
  });
  expect(await tell("/none")).toMatchObject({ status: 404, body: { error: "not_found" } });
  for (const [path, body, message] of [
    ["/script", { answers: "503" }, "answers must be an array"],
    ["/script", { answers: ["explode"] }, '"explode" is neither a status nor'],
    ["/stations/offline", { id: "none" }, "there is no station none"],
    ["/rides/start", {}, "bike_id must be a string"],
    ["/advance", { ms: -1 }, "0 or more"],
    ["/webhooks", { event: "ride.completed" }, "--webhook-url"],
    ["/events", [], "must be an object"],
  ] as const) {
    const answered = await tell(path, body);
    expect([answered.status, (answered.body as { message: string }).message]).toEqual([
      400,
      expect.stringContaining(message),
    ]);
  }
});

it("refuses a wrong port, limit or URL, and a receiver on another machine", async () => {
  for (const [args, message] of [
    [["--port", "70000"], "--port must be an integer from 0 to 65535"],
    [["--rate-limit", "many"], "--rate-limit must be an integer"],
    [["--webhook-url", "https://example.com"], "example.com is not this machine"],
    [["--webhook-url", ""], "--webhook-url must be an http URL"],
  ] as const) {
    const failed = run(["fake", ...args], {});
    expect(await failed.ended).toBe(2);
    expect(failed.stderr()).toContain(message);
  }
});

it("refuses fields that it does not know, as the service does, and changes nothing", async () => {
  const { get, tell, remove } = await startFake();
  const { requests } = (await get("/fake")).body as { requests: string[] };
  const written = requests
    .map((request) => request.split(" ") as [string, string])
    .filter(([method]) => method !== "GET");
  expect(written.length).toBeGreaterThan(10);
  for (const [method, path] of written) {
    const send = method === "POST" ? tell : remove;
    const { status, body } = await send(path.replace("/fake", ""), { id: "b", bike_id: "b", vehicel_state: "missing" });
    expect([status, (body as { message: string }).message], path).toEqual([
      400,
      expect.stringMatching(/^unknown fields? .*vehicel_state/),
    ]);
  }
  expect((await get("/v1/bikes/b")).status).toBe(404);
  expect((await tell("/bikes", { id: "b", vehicle_state: "missing" })).status).toBe(200);
  expect((await get("/v1/bikes/b")).body).toMatchObject({ id: "b", vehicle_state: "missing" });
});
