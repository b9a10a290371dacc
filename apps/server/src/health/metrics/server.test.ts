import { request } from "node:http";
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { createMetrics } from "./registry.ts";
import { type MetricsServer, type MetricsServerOptions, NotReady, startMetricsServer } from "./server.ts";

const open: MetricsServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function start(options: Partial<MetricsServerOptions> = {}): Promise<MetricsServer> {
  const quiet = { warn: () => undefined };
  const server = await startMetricsServer({
    port: 0,
    metrics: createMetrics({ version: "1" }),
    logger: quiet,
    ...options,
  });
  open.push(server);
  return server;
}

async function ask(url: string, method = "GET") {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    type: unknown;
    body: string;
  }>();
  const asked = request(url, { method, agent: false }, (response) => {
    const { statusCode: status, headers } = response;
    readText(response).then((body) => resolve({ status, type: headers["content-type"], body }), reject);
  });
  asked.on("error", reject).end();
  return promise;
}

test("shows the metrics in Prometheus's format, on loopback", async () => {
  const { url } = await start();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const { status, type, body } = await ask(`${url}/metrics`);
  expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(body).toContain("bikeshare_build_info");
  expect((await ask(`${url}/metrics?name=x`)).status).toBe(200);
  expect(await ask(`${url}/metrics`, "HEAD")).toMatchObject({ status: 200, body: "" });
});

test("says that it lives", async () => {
  const { url } = await start();
  expect(await ask(`${url}/healthz`)).toMatchObject({ status: 200, body: "ok\n" });
});

test.each([
  ["GET", "/"],
  ["GET", "/metrics/"],
  ["GET", "//metrics"],
  ["GET", "/v1/stations"],
  ["POST", "/metrics"],
  ["OPTIONS", "/metrics"],
])("answers 404 to %s %s", async (method, path) => {
  const { url } = await start();
  expect((await ask(`${url}${path}`, method)).status).toBe(404);
});

test("answers 500 and logs why when the metrics cannot be read; the next reading is another chance", async () => {
  const warnings: unknown[] = [];
  const texts = [Promise.reject(new Error("broken")), Promise.resolve("fine\n")];
  texts[0]?.catch(() => undefined);
  const metrics = { text: () => texts.shift() ?? Promise.resolve("") };
  const { url } = await start({ metrics, logger: { warn: (detail, message) => warnings.push([detail, message]) } });
  const { status, body } = await ask(`${url}/metrics`);
  expect([status, body]).toEqual([500, "The metrics cannot be read; the log says why.\n"]);
  expect(warnings).toEqual([[{ err: new Error("broken") }, "metrics cannot be read"]]);
  expect(await ask(`${url}/metrics`)).toMatchObject({ status: 200, body: "fine\n" });
});

test("names METRICS_PORT when the port is taken", async () => {
  const { url } = await start();
  const port = Number(new URL(url).port);
  await expect(start({ port })).rejects.toThrow(
    `127.0.0.1:${port} is in use. Stop what listens there, or set METRICS_PORT`,
  );
});

test("closes at once, though a reading hangs", async () => {
  const asked = Promise.withResolvers<void>();
  const text = () => {
    asked.resolve();
    return Promise.withResolvers<string>().promise;
  };
  const { url, close } = await start({ metrics: { text } });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const cut = Promise.withResolvers<void>();
  socket.on("error", () => undefined).on("close", () => cut.resolve());
  socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  await asked.promise;
  await close();
  open.length = 0;
  await cut.promise;
});

test("a reading that fails because the process closes is not logged", async () => {
  const asked = Promise.withResolvers<void>();
  const reading = Promise.withResolvers<string>();
  const warnings: unknown[] = [];
  const text = () => {
    asked.resolve();
    return reading.promise;
  };
  const { url, close } = await start({ metrics: { text }, logger: { warn: (detail) => warnings.push(detail) } });
  const answer = ask(`${url}/metrics`).catch(() => "cut");
  await asked.promise;
  await close();
  open.length = 0;
  reading.reject(new Error("the database is closed"));
  expect(await answer).toBe("cut");
  expect(warnings).toEqual([]);
});

test("readiness is told here too, for processes that answer nothing else", async () => {
  let verdict = (): Promise<readonly string[]> => Promise.resolve([]);
  const { url } = await start({ ready: () => verdict() });
  expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200, body: '{"status":"ok"}' });
  verdict = () => Promise.resolve(["no worker is running"]);
  expect(await ask(`${url}/readyz`)).toMatchObject({ body: '{"status":"ok","concerns":["no worker is running"]}' });
  verdict = () => Promise.reject(new Error("the password is hunter2"));
  const away = await ask(`${url}/readyz`);
  expect([away.status, away.type]).toEqual([503, "application/json"]);
  expect(away.body).toBe('{"error":"unavailable","message":"The database cannot be reached."}');
  for (const message of ["The process is starting.", "The process is shutting down."]) {
    verdict = () => Promise.reject(new NotReady(message));
    const { status, body } = await ask(`${url}/readyz`);
    expect([status, body]).toEqual([503, JSON.stringify({ error: "unavailable", message })]);
  }
});
