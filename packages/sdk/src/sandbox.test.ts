import { expect, it } from "vitest";
import { errorResponse, hang, jsonResponse, KEY, script, type Scripted, simulate } from "../test/simulation.ts";
import { PLATFORM } from "./core/platform.ts";
import type { ClientOptions } from "./options.ts";
import { type Sandbox, SandboxClient } from "./sandbox.ts";

const ready = { now: "2026-01-01T00:00:00.000Z", advanced_seconds: 900, ready: true };
const busy = { ...ready, ready: false };

/** Returns a client of a sandbox with a scripted fetch, in simulated time. */
function setUp(lines: readonly Scripted[], options: Partial<ClientOptions> = {}) {
  const fetch = script(...lines);
  const simulation = simulate(fetch);
  const all = { apiKey: KEY, baseUrl: "https://bikes.example", ...options, [PLATFORM]: simulation.platform };
  const sent = () =>
    fetch.sent.map(({ init, url }) =>
      `${init.method} ${url.pathname} ${typeof init.body === "string" ? init.body : ""}`.trim(),
    );
  return { client: new SandboxClient(all), simulation, sent };
}

it("sends each call to its endpoint, with its body", async () => {
  const { client, simulation, sent } = setUp([jsonResponse({})]);
  const { sandbox } = client;
  await simulation.run(sandbox.show());
  await simulation.run(sandbox.reset());
  await simulation.run(sandbox.reset({ seed: 7 }));
  await simulation.run(sandbox.trigger("ride.completed"));
  await simulation.run(sandbox.trigger("station.offline", { station_id: "station-007" }));
  await simulation.run(sandbox.scenario("rush-hour"));
  await simulation.run(sandbox.clock());
  await simulation.run(sandbox.addFault({ status: "timeout", count: 2 }));
  await simulation.run(sandbox.endFaults());
  await simulation.run(sandbox.setWebhookFaults({ duplicate: true }));
  expect(sent()).toEqual([
    "GET /sandbox/v1",
    "POST /sandbox/v1/reset {}",
    'POST /sandbox/v1/reset {"seed":7}',
    "POST /sandbox/v1/events/ride.completed {}",
    'POST /sandbox/v1/events/station.offline {"station_id":"station-007"}',
    "POST /sandbox/v1/scenarios/rush-hour {}",
    "GET /sandbox/v1/clock",
    'POST /sandbox/v1/faults {"status":"timeout","count":2}',
    "DELETE /sandbox/v1/faults",
    'POST /sandbox/v1/webhooks/faults {"duplicate":true}',
  ]);
});

it("advances the clock once, and waits until it is ready", async () => {
  const accepted = jsonResponse(busy, 202);
  const { client, simulation, sent } = setUp([
    accepted,
    ...Array.from({ length: 20 }, () => jsonResponse(busy)),
    jsonResponse(ready),
  ]);
  expect(await simulation.run(client.sandbox.advanceAndWait({ seconds: 900 }))).toEqual(ready);
  expect(sent()).toEqual([
    'POST /sandbox/v1/clock/advance {"seconds":900}',
    ...Array.from({ length: 21 }, () => "GET /sandbox/v1/clock"),
  ]);
  // After a while there is at most one request a second, far below 600 a minute.
  expect(simulation.now()).toBeGreaterThan(15_000);
  expect(simulation.timers()).toBe(0);
});

it("waits no longer than its total timeout, even where no answer comes", async () => {
  for (const lines of [[jsonResponse(busy)], [hang]]) {
    const { client, simulation } = setUp(lines);
    const waited = simulation.run(client.sandbox.waitUntilReady({ totalTimeoutMs: 5_000 }));
    await expect(waited).rejects.toMatchObject({ name: "TimeoutError" });
    expect(simulation.now()).toBe(5_000);
    expect(simulation.timers()).toBe(0);
  }
});

it("advances and waits within one total timeout", async () => {
  const limited = errorResponse(429, "rate_limited", { "retry-after": "4" });
  const { client, simulation, sent } = setUp([limited, jsonResponse(busy, 202), jsonResponse(busy)]);
  const waited = simulation.run(client.sandbox.advanceAndWait({ seconds: 900 }, { totalTimeoutMs: 5_000 }));
  await expect(waited).rejects.toMatchObject({ name: "TimeoutError" });
  expect(sent()[1]).toBe('POST /sandbox/v1/clock/advance {"seconds":900}');
  expect(simulation.now()).toBe(5_000);
  expect(simulation.timers()).toBe(0);
});

it("stops waiting when its signal aborts, with the signal's reason", async () => {
  const { client, simulation } = setUp([jsonResponse(busy)]);
  const stopping = new AbortController();
  const waited = client.sandbox.waitUntilReady({ signal: stopping.signal });
  const stop = async () => {
    await simulation.sleep(3_000);
    stopping.abort(new Error("the test is over"));
  };
  await expect(simulation.run(Promise.all([waited, stop()]))).rejects.toThrow("the test is over");
  expect(simulation.timers()).toBe(0);
});

const repeating: readonly (readonly [string, (sandbox: Sandbox) => PromiseLike<unknown>])[] = [
  ["trigger", (sandbox) => sandbox.trigger("ride.completed")],
  ["scenario", (sandbox) => sandbox.scenario("rush-hour")],
  ["advance", (sandbox) => sandbox.advance({ seconds: 1 })],
  ["addFault", (sandbox) => sandbox.addFault({ status: 503 })],
];

it.each(repeating)("%s is not sent again where it may have been done, and is after a 429", async (_, call) => {
  const broken = setUp([new TypeError("the connection broke")]);
  await expect(broken.simulation.run(call(broken.client.sandbox))).rejects.toMatchObject({ attempts: 1 });
  const failed = setUp([errorResponse(503, "unavailable")]);
  await expect(failed.simulation.run(call(failed.client.sandbox))).rejects.toMatchObject({ attempts: 1 });
  const limited = setUp([errorResponse(429, "rate_limited", { "retry-after": "1" }), jsonResponse(ready, 202)]);
  await limited.simulation.run(Promise.resolve(call(limited.client.sandbox)).catch(() => undefined));
  expect(limited.sent()).toHaveLength(2);
});

it("has a rate limit of its own: what is asked of the sandbox does not slow what is tested", async () => {
  const limit = (quota: number, left: number) => ({
    "ratelimit-policy": `"default";q=${quota};w=60`,
    ratelimit: `"default";r=${left};t=60`,
  });
  const answer: Scripted = ({ url }) =>
    url.pathname.startsWith("/sandbox")
      ? jsonResponse(ready, 200, limit(600, 0))
      : jsonResponse({}, 200, limit(60, 59));
  const { client, simulation } = setUp([answer]);
  await simulation.run(client.sandbox.clock());
  await simulation.run(client.me.get());
  expect(simulation.now()).toBe(0);
  await simulation.run(client.sandbox.clock());
  expect(simulation.now()).toBeGreaterThanOrEqual(60_000);
});

it("refuses a live key before anything is sent, and never shows it", () => {
  const apiKey = "bss_live_1234567890";
  const make = () => new SandboxClient({ baseUrl: "https://bikes.example", apiKey });
  expect(make).toThrow("begins with bss_test_");
  expect(make).not.toThrow(apiKey);
});
