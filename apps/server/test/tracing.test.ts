import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { resolveSystem } from "../src/city/systems/service.ts";
import { readConfig } from "../src/config.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { serve, type Service } from "../src/runtime/serve.ts";
import { loadSecrets } from "../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { openReservationsHarness, partner, type ReservationsHarness } from "./reservations/reservations.harness.ts";
import { type OtlpReceiver, startOtlpReceiver } from "./servers/otlp-receiver.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

const clock = () => Date.now();
let world: ReservationsHarness;
let directory: string;
let collector: OtlpReceiver;
let service: Service | undefined;

beforeEach(async () => {
  world = await openReservationsHarness();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-traces-"));
  collector = await startOtlpReceiver({ authorization: "Bearer t0ken" });
});
afterEach(async () => {
  await stop();
  await collector.close();
  await world.close();
  await rm(directory, { recursive: true, force: true });
});

/** Stops the service, which then sends its last spans. */
async function stop(): Promise<void> {
  await service?.close();
  service = undefined;
}

/** Starts a service as `serve` does. @returns its URL */
async function start(env: Readonly<Record<string, string>>): Promise<string> {
  const settings = { DATABASE_URL: world.db.connectionString, DATA_DIR: directory, PORT: "0", DRAIN_DELAY: "0s" };
  const config = readConfig({ ...settings, LOG_LEVEL: "silent", ...env }, directory);
  const ids = createIds(clock);
  service = await serve({
    ...{ config, clock, ids, role: "all" },
    resolveSystem: (db, named) => resolveSystem({ db, clock, ids, actor: "test" }, named, config.systemId),
  });
  return service.url ?? "";
}

const issue = () =>
  issueKey(
    { db: world.db, clock, ids: createIds(clock), actor: "test" },
    { systemId: world.systemId, partnerId: partner, scopes: ["reservations:write"], rateLimit: null },
  );

it("follows a request through its statements to the attempts of its webhook, without what anybody sent", async () => {
  await world.fill("station-1", [{ id: "bike-1" }]);
  const { webhookKeys } = await loadSecrets(join(directory, "secrets.json"), randomBytes);
  const url = await start({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20t0ken",
    OTEL_TRACES_SAMPLER_ARG: "1",
  });
  const endpoint = { systemId: world.systemId, partnerId: partner, url: "https://receiver.test/secret-path" };
  const rules = readConfig({}, directory).webhooks;
  const context = { db: world.db, clock, ids: createIds(clock), actor: "test", rules };
  const cipher = createSecretCipher(webhookKeys);
  await setEndpoint({ ...context, cipher }, { ...endpoint, events: ["reservation.created"] });
  const { key } = await issue();
  const response = await fetch(`${url}/v1/reservations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": "secret-idempotency",
      traceparent: `00-${TRACE}-${SPAN}-00`,
    },
    body: JSON.stringify({ station_id: "station-1", rider_ref: "secret-rider" }),
  });
  expect(response.status, await response.clone().text()).toBe(201);

  const named = (name: string) => collector.spans.find((span) => span.name === name);
  await expect.poll(() => named("webhook attempt")).toBeDefined();
  await expect.poll(() => named("POST /v1/reservations")).toBeDefined();
  const [request, attempt] = [named("POST /v1/reservations"), named("webhook attempt")];
  expect(request).toMatchObject({
    traceId: TRACE,
    parentSpanId: SPAN,
    attributes: {
      "http.response.status_code": 201,
      "http.route": "/v1/reservations",
      "bikeshare.endpoint": "reservations.create",
      "bikeshare.request_id": response.headers.get("request-id"),
    },
  });
  // Each event of the request has a separate trace, which contains its attempts.
  expect(request?.links.map(({ traceId }) => traceId)).toContain(attempt?.traceId);
  const statements = collector.spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  expect(statements.map(({ name }) => name)).toEqual(expect.arrayContaining(["commit"]));
  expect(statements.length).toBeGreaterThan(3);
  expect(attempt?.attributes).toMatchObject({ "bikeshare.outcome": "failed", "bikeshare.attempt": 1 });
  expect(collector.text()).not.toMatch(/secret|bike-1|station-1|127\.0\.0\.1|bss_live/);
});

it("costs nothing but spans while the collector is away, and records nothing that strangers ask for beyond a bound", async () => {
  await collector.close();
  const url = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "1" });
  for (let n = 0; n < 20; n++) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await stop();
  collector = await startOtlpReceiver({});

  const quiet = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "0" });
  const begun = performance.now();
  const headers = { traceparent: `00-${TRACE}-${SPAN}-01` };
  for (let n = 0; n < 50; n++) await fetch(`${quiet}/healthz`, { headers });
  const seconds = Math.ceil((performance.now() - begun) / 1_000) + 1;
  await stop();
  const traced = collector.spans.filter(({ name }) => name === "GET /healthz");
  expect(traced.length).toBeGreaterThan(0);
  expect(traced.length).toBeLessThanOrEqual(seconds);
});
