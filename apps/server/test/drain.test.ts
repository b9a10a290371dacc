import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { stopAnswering } from "../src/http/stopping.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { sendRaw } from "./raw-http.ts";
import { until } from "./until.ts";

let app: TestApp;
/** The service that is stopped. Each test has a separate one. */
let leaving: BuiltApp;
let key: string;

beforeEach(async () => {
  app = await startTestApp();
  leaving = await buildAnother(app, { rateLimit: 1_000_000 });
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
  expect([refused.status, refused.headers.get("Connection")]).toEqual([401, "close"]);
});

it("readyz stays 200 and tells what an operator should look at", async () => {
  const concerned = await buildAnother(app, { concerns: () => ["no worker is running"] });
  const response = await fetch(`${concerned.url}/readyz`);
  expect([response.status, await response.json()]).toEqual([200, { status: "ok", concerns: ["no worker is running"] }]);
  await concerned.close();
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
    // Not `closeApp`, because it closes running requests after a time limit.
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

/**
 * A client that keeps its connection and sends the next request after each response. It ends when a response has
 * `Connection: close` and the service no longer serves.
 */
async function askOnAndOn(agent: Agent, isServing: () => boolean, answers: Answers): Promise<void> {
  for (;;) {
    const asked = request(`${leaving.url}/v1/me`, { agent, headers: { authorization: `Bearer ${key}` } });
    try {
      const [response] = (await once(asked.end(), "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      answers.good++;
      if (response.headers.connection === "close" && !isServing()) return;
    } catch (error) {
      answers.failed.push(String(error));
      return;
    }
  }
}

interface Answers {
  good: number;
  readonly failed: string[];
}

it("a stop under load fails no request: clients are told by an answer, and then go", async () => {
  const answers: Answers = { good: 0, failed: [] };
  const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  let isServing = true;
  const clients = agents.map((agent) => askOnAndOn(agent, () => isServing, answers));
  await until(() => answers.good > 50);
  const isSeen = Promise.withResolvers<void>();
  const stopping = stopAnswering({
    ...leaving.app,
    delay: () => isSeen.promise,
    idleMs: 60_000,
    requestsMs: 60_000,
  });
  // Acts as a load balancer: polls /readyz, and sends no more requests after a 503.
  await until(async () => (await get("/readyz")).status === 503);
  isServing = false;
  await Promise.all(clients);
  isSeen.resolve();
  await stopping;
  expect(answers.failed).toEqual([]);
  await expect(get("/healthz")).rejects.toThrow();
  for (const agent of agents) agent.destroy();
});

it("an idle connection may be used once more after the listener is closed, and is closed by that answer", async () => {
  const { port } = new URL(leaving.url);
  const socket = connect(Number(port), "127.0.0.1").setEncoding("latin1");
  const ended = once(socket, "end");
  let received = "";
  socket.on("data", (part: string) => (received += part));
  const ask = async (answers: number) => {
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => received.split('{"status":"ok"}').length - 1 === answers);
  };
  await ask(1);
  const stopping = stopAnswering({
    ...leaving.app,
    delay: () => Promise.resolve(),
    idleMs: 60_000,
    requestsMs: 60_000,
  });
  await until(async () =>
    get("/healthz").then(
      () => false,
      () => true,
    ),
  );
  await ask(2);
  expect(received.match(/^connection: .+$/gim)?.map((line) => line.toLowerCase())).toEqual([
    "connection: keep-alive",
    "connection: close",
  ]);
  await Promise.all([ended, stopping]);
  socket.destroy();
});

it("a connection that nobody uses any more does not hold up a stop", async () => {
  await (await get("/v1/stations")).arrayBuffer();
  const quick = { delay: () => Promise.resolve(), idleMs: 1, requestsMs: 60_000 };
  await stopAnswering({ ...leaving.app, ...quick });
  await expect(get("/healthz")).rejects.toThrow();
});
