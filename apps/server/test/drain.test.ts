import { once } from "node:events";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { sendRaw } from "./raw-http.ts";
import { until } from "./until.ts";

let app: TestApp;
/** The service that goes down; each test has its own. */
let leaving: BuiltApp;
let key: string;

beforeEach(async () => {
  app = await startTestApp();
  leaving = await buildAnother(app);
  key = (await app.issue()).key;
});

afterEach(async () => {
  await leaving.close();
  await app.close();
});

const get = (path: string) => fetch(leaving.url + path, { headers: { authorization: `Bearer ${key}` } });

it("while it drains, readyz is 503, healthz is 200, and requests are answered with Connection: close", async () => {
  const ready = await get("/readyz");
  expect([ready.status, ready.headers.get("connection")]).toEqual([200, "keep-alive"]);
  leaving.app.drain();
  const draining = await get("/readyz");
  expect([draining.status, draining.headers.get("connection"), draining.headers.get("retry-after")]).toEqual([
    503,
    "close",
    "5",
  ]);
  expect(await draining.json()).toMatchObject({ error: "unavailable" });
  for (const path of ["/healthz", "/v1/stations", "/v1/me"]) {
    const response = await get(path);
    expect([path, response.status, response.headers.get("connection")]).toEqual([path, 200, "close"]);
    await response.arrayBuffer();
  }
  const refused = await sendRaw(leaving.url, "GET /v1/me HTTP/1.1\r\nHost: a\r\n\r\n");
  expect([refused.status, refused.headers["Connection"]]).toEqual([401, "close"]);
});

it("answers the request that has begun before it closes, and takes no new connection", async () => {
  const { http, drain } = leaving.app;
  let answer: Promise<Response> | undefined;
  let closed = false;
  let closing: Promise<void> | undefined;
  await app.db.transaction(async (tx) => {
    await tx.run("lock table rides in access exclusive mode");
    const begun = once(http.server, "request");
    answer = get("/v1/rides?status=completed");
    answer.catch(() => undefined);
    await begun;
    drain();
    // Without the bound after which `closeApp` cuts what is under way.
    closing = http.close().then(() => void (closed = true));
    await until(async () =>
      get("/healthz").then(
        () => false,
        () => true,
      ),
    );
    expect(closed).toBe(false);
  });
  const response = await answer;
  expect([response?.status, response?.headers.get("connection")]).toEqual([200, "close"]);
  expect(await response?.json()).toEqual({ data: [], page: 1, total_pages: 1 });
  await closing;
});

it("closes though clients keep idle connections open", async () => {
  await (await get("/v1/stations")).arrayBuffer();
  leaving.app.drain();
  await leaving.close();
  await expect(get("/healthz")).rejects.toThrow();
});
