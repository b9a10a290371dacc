import { describe, expect, it } from "vitest";
import {
  jsonResponse,
  hang,
  errorResponse,
  script,
  type Scripted,
  simulate,
  simulatedClient,
} from "../../test/simulation.ts";
import type { BikeShareError } from "../errors/errors.ts";
import type { RetryDetails } from "../hooks.ts";
import type { ClientOptions } from "../options.ts";

const ride = { id: "r1" };
const down = new TypeError("fetch failed", {
  cause: Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" }),
});

/** Returns a client with a scripted fetch, in simulated time. */
function setUp(lines: readonly Scripted[], options: Partial<ClientOptions> = {}, random?: () => number) {
  const fetch = script(...lines);
  const simulation = simulate(fetch, random);
  return { fetch, simulation, client: simulatedClient(simulation, options) };
}

describe("a request that fails", () => {
  it.each<[string, Scripted]>([
    ["a broken connection", down],
    ["408", errorResponse(408, "whatever")],
    ["429", errorResponse(429, "rate_limited")],
    ["500", errorResponse(500, "internal")],
    ["502 of a proxy", new Response("<html>", { status: 502 })],
    ["503", errorResponse(503, "unavailable")],
  ])("with %s is sent again", async (_, line) => {
    const { client, fetch, simulation } = setUp([line, jsonResponse(ride)]);
    expect(await simulation.run(client.rides.get("r1"))).toEqual(ride);
    expect(fetch.sent).toHaveLength(2);
    expect(simulation.timers()).toBe(0);
  });

  it.each([400, 401, 403, 404, 405, 409, 410, 413, 415, 418, 422])("with %i is not sent again", async (status) => {
    const { client, fetch, simulation } = setUp([errorResponse(status, "some_code")]);
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({ status, attempts: 1 });
    expect(fetch.sent).toHaveLength(1);
  });

  it("whose response breaks off in the middle is sent again", async () => {
    const broken = () => {
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode('{"id":"r')),
        pull: (stream) => stream.error(new TypeError("terminated")),
      });
      return Promise.resolve(Object.assign(new Response(body), { clone: () => new Response(body) }));
    };
    const { client, simulation } = setUp([broken, jsonResponse(ride)]);
    expect(await simulation.run(client.rides.get("r1"))).toEqual(ride);
  });

  it("is sent again `maxRetries` times and then fails with the number of attempts", async () => {
    const { client, fetch, simulation } = setUp([errorResponse(503, "unavailable")]);
    await expect(simulation.run(client.rides.get("r1", { maxRetries: 2 }))).rejects.toMatchObject({
      name: "ServerError",
      code: "unavailable",
      attempts: 3,
      requestId: "req-503",
    });
    expect(fetch.sent).toHaveLength(3);
  });

  it.each<[string, Scripted]>([
    ["503", errorResponse(503, "unavailable")],
    ["429", errorResponse(429, "rate_limited", { "retry-after": "1" })],
    ["a broken connection", down],
  ])("with %s is sent once when `maxRetries` is 0", async (_, line) => {
    const { client, fetch, simulation } = setUp([line], { maxRetries: 0 });
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({ attempts: 1 });
    expect(fetch.sent).toHaveLength(1);
    expect(simulation.now()).toBe(0);
  });

  it("is sent again after up to 0.5, 1, 2, 4 and at most 8 s", async () => {
    const pauses: number[] = [];
    const onRetry = ({ delayMs }: RetryDetails) => void pauses.push(delayMs);
    const options = { onRetry, maxRetries: 6 };
    for (const random of [0, 0.5, 0.999]) {
      const { client, simulation } = setUp([down], options, () => random);
      await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({ attempts: 7 });
      expect(pauses.splice(0)).toEqual([500, 1000, 2000, 4000, 8000, 8000].map((most) => most * random));
    }
  });

  it("is not retried any more once the retry budget is spent", async () => {
    const { client, fetch, simulation } = setUp([errorResponse(500, "internal")]);
    for (let call = 0; call < 100; call++) {
      await expect(simulation.run(client.health.live())).rejects.toMatchObject({ name: "ServerError" });
    }
    // The budget's 20 retries, and the first attempt of each of the 100 calls.
    expect(fetch.sent).toHaveLength(120);
  });

  it("adds a retry to the budget for every ten successes", async () => {
    let isUp = false;
    const { client, fetch, simulation } = setUp([
      () => (isUp ? jsonResponse({ status: "ok" }) : errorResponse(500, "internal")),
    ]);
    const call = () => simulation.run(client.health.live().catch(() => undefined));
    for (let calls = 0; calls < 10; calls++) await call();
    isUp = true;
    for (let calls = 0; calls < 30; calls++) await call();
    isUp = false;
    fetch.sent.splice(0);
    for (let calls = 0; calls < 10; calls++) await call();
    expect(fetch.sent.length - 10).toBeGreaterThanOrEqual(2);
    expect(fetch.sent.length - 10).toBeLessThanOrEqual(3);
  });
});

describe("Retry-After", () => {
  it.each([1, 59, 3600, 86_400])("of %i s is waited for, and never less", async (seconds) => {
    const { client, simulation } = setUp(
      [errorResponse(429, "rate_limited", { "retry-after": String(seconds) }), jsonResponse(ride)],
      {
        totalTimeoutMs: Infinity,
      },
    );
    await simulation.run(client.rides.get("r1"));
    expect(simulation.now()).toBeGreaterThanOrEqual(seconds * 1000);
    expect(simulation.now()).toBeLessThanOrEqual(seconds * 1000 + 250);
  });

  it("may be longer than any timer", async () => {
    const month = 31 * 86_400;
    const { client, simulation } = setUp(
      [errorResponse(503, "unavailable", { "retry-after": String(month) }), jsonResponse(ride)],
      {
        totalTimeoutMs: Infinity,
      },
    );
    await simulation.run(client.rides.get("r1"));
    expect(simulation.now()).toBeGreaterThanOrEqual(month * 1000);
  });

  it.each([
    ["0", 0],
    ["0.5", 500],
    ["2", 2000],
  ])("of %s s is read exactly", async (seconds, retryAfterMs) => {
    const { client, simulation } = setUp([errorResponse(503, "unavailable", { "retry-after": seconds })], {
      maxRetries: 0,
    });
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({ retryAfterMs });
  });

  it("of zero means at once, not after the usual delay", async () => {
    const unavailable = errorResponse(503, "unavailable", { "retry-after": "0" });
    const { client, simulation } = setUp([unavailable, jsonResponse(ride)], {}, () => 0.999);
    await simulation.run(client.rides.get("r1"));
    expect(simulation.now()).toBeLessThanOrEqual(250);
  });

  it.each(["", "soon", "-1", "1e3"])("is ignored when it is %j", async (text) => {
    const { client, simulation } = setUp([errorResponse(503, "unavailable", { "retry-after": text })], {
      maxRetries: 0,
    });
    const error: unknown = await simulation.run(client.rides.get("r1").catch((reason: unknown) => reason));
    expect((error as BikeShareError).retryAfterMs).toBeUndefined();
  });

  it("may be a date, which is compared with the response's own", async () => {
    const headers = { date: "Mon, 01 Jun 2026 12:00:00 GMT", "retry-after": "Mon, 01 Jun 2026 12:00:30 GMT" };
    const { client, simulation } = setUp([errorResponse(503, "unavailable", headers), jsonResponse(ride)]);
    await simulation.run(client.rides.get("r1"));
    expect(simulation.now()).toBeGreaterThanOrEqual(30_000);
    expect(simulation.now()).toBeLessThanOrEqual(30_250);
  });

  it("fails the call at once when it is beyond the deadline", async () => {
    const { client, fetch, simulation } = setUp([errorResponse(429, "rate_limited", { "retry-after": "60" })], {
      totalTimeoutMs: 59_000,
    });
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({
      name: "RateLimitError",
      retryAfterMs: 60_000,
      attempts: 1,
    });
    expect(simulation.now()).toBe(0);
    expect(fetch.sent).toHaveLength(1);
  });

  it("delays all calls of the client after a 429, not only the rejected one", async () => {
    const { client, fetch, simulation } = setUp([
      errorResponse(429, "rate_limited", { "retry-after": "30" }),
      jsonResponse(ride),
    ]);
    const first = client.rides.get("r1");
    await simulation.run(simulation.sleep(1));
    const second = client.rides.get("r2");
    await simulation.run(simulation.sleep(29_000));
    expect(fetch.sent).toHaveLength(1);
    await simulation.run(Promise.all([first, second]));
    expect(simulation.now()).toBeGreaterThanOrEqual(30_000);
  });

  it("is honoured four times in a row", async () => {
    const { client, simulation } = setUp([
      ...Array<Scripted>(4).fill(errorResponse(429, "rate_limited", { "retry-after": "60" })),
      jsonResponse(ride),
    ]);
    expect(await simulation.run(client.rides.get("r1").withResponse())).toMatchObject({ data: ride, attempts: 5 });
  });
});

describe("a timeout", () => {
  it("of one attempt ends it, and another is made", async () => {
    const { client, fetch, simulation } = setUp([hang, jsonResponse(ride)], { timeoutMs: 1000 }, () => 0);
    expect(await simulation.run(client.rides.get("r1"))).toEqual(ride);
    expect(fetch.sent[0]!.init.signal!.aborted).toBe(true);
    expect(simulation.now()).toBe(1000);
  });

  it("of one attempt includes the response's body", async () => {
    const endless = () => {
      const body = new ReadableStream({ pull: () => new Promise(() => {}) });
      return Promise.resolve(Object.assign(new Response(body), { clone: () => new Response(body) }));
    };
    const { client, simulation } = setUp([endless], { timeoutMs: 1000, maxRetries: 0 });
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({
      name: "TimeoutError",
      message: "GET /v1/rides/:id: no response within 1000 ms",
      attempts: 1,
    });
  });

  it("of a call ends its attempts and delays, and its error has the last failure as its cause", async () => {
    const { client, simulation } = setUp([errorResponse(503, "unavailable"), hang], {
      timeoutMs: 60_000,
      totalTimeoutMs: 5000,
    });
    const error: unknown = await simulation.run(client.rides.get("r1").catch((reason: unknown) => reason));
    expect(error).toMatchObject({ name: "TimeoutError", attempts: 2, cause: { status: 503 } });
    expect(simulation.now()).toBe(5000);
    expect(simulation.timers()).toBe(0);
  });

  it("ends the call even when a custom fetch ignores its signal", async () => {
    const { client, simulation } = setUp([() => new Promise(() => {})], { totalTimeoutMs: 5000, timeoutMs: 9000 });
    await expect(simulation.run(client.rides.get("r1"))).rejects.toMatchObject({ name: "TimeoutError" });
    expect(simulation.timers()).toBe(0);
  });
});

describe("an AbortSignal", () => {
  const reason = new Error("the user left");

  it.each<[string, Scripted]>([
    ["a request", hang],
    ["a pause between requests", errorResponse(503, "unavailable", { "retry-after": "100" })],
  ])("ends %s at once with its reason", async (_, line) => {
    const retried: unknown[] = [];
    const { client, fetch, simulation } = setUp([line], { onRetry: (note) => void retried.push(note) });
    const controller = new AbortController();
    const call = client.rides.get("r1", { signal: controller.signal }).catch((error: unknown) => error);
    await simulation.run(simulation.sleep(100));
    const retriedBefore = retried.length;
    controller.abort(reason);
    expect(await call).toBe(reason);
    await simulation.run(simulation.sleep(0));
    expect(retried).toHaveLength(retriedBefore);
    expect(simulation.now()).toBe(100);
    expect(simulation.timers()).toBe(0);
    expect(fetch.sent).toHaveLength(1);
  });

  it("that is aborted already sends nothing", async () => {
    const { client, fetch } = setUp([jsonResponse(ride)]);
    await expect(client.rides.get("r1", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(fetch.sent).toEqual([]);
  });

  it("has no listener left after a call", async () => {
    const { client, simulation } = setUp([jsonResponse(ride)]);
    let listeners = 0;
    const { signal } = new AbortController();
    const { addEventListener: add, removeEventListener: remove } = signal;
    signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add.apply(signal, args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove.apply(signal, args));
    await simulation.run(client.rides.get("r1", { signal }));
    expect(listeners).toBe(0);
  });
});

describe("a call with an idempotency key", () => {
  const request = { station_id: "s1" };
  const made = jsonResponse({ id: "x" }, 201);
  const keys = (fetch: ReturnType<typeof script>) => fetch.sent.map(({ headers }) => headers.get("idempotency-key"));

  it("is retried with the same key", async () => {
    const { client, fetch, simulation } = setUp([down, errorResponse(500, "internal"), made]);
    await simulation.run(client.reservations.create(request));
    const [key] = keys(fetch);
    expect(key).toMatch(/^[!-~]{1,255}$/);
    expect(keys(fetch)).toEqual([key, key, key]);
    expect(fetch.sent.map(({ init }) => init.body)).toEqual(Array(3).fill(JSON.stringify(request)));
  });

  it("gets a new key each time", async () => {
    const { client, fetch, simulation } = setUp([made]);
    await simulation.run(client.reservations.create(request));
    await simulation.run(client.reservations.create(request));
    expect(new Set(keys(fetch)).size).toBe(2);
  });

  it("uses the key of the caller", async () => {
    const { client, fetch, simulation } = setUp([made]);
    await simulation.run(client.reservations.create(request, { idempotencyKey: "order-7" }));
    expect(keys(fetch)).toEqual(["order-7"]);
  });

  it("has its key in its error, so that it can be finished later", async () => {
    const { client, fetch, simulation } = setUp([down], { maxRetries: 1 });
    const error: unknown = await simulation.run(client.reservations.create(request).catch((reason: unknown) => reason));
    expect(error).toMatchObject({ name: "ConnectionError", idempotencyKey: keys(fetch)[0] });
  });

  it("is retried while the first attempt is in progress", async () => {
    const { client, simulation } = setUp([errorResponse(409, "idempotency_in_progress"), made]);
    expect(await simulation.run(client.reservations.create(request))).toEqual({ id: "x" });
  });

  it("is not retried after a conflict", async () => {
    const { client, fetch, simulation } = setUp([errorResponse(409, "no_bike_available")]);
    await expect(simulation.run(client.reservations.create(request))).rejects.toMatchObject({ name: "ConflictError" });
    expect(fetch.sent).toHaveLength(1);
  });

  // An empty key would be left out of the request, and a retry would create a second reservation.
  it.each(["a\nb", ""])(
    "with the key %j, which no header can hold, is refused before anything is sent",
    async (key) => {
      const { client, fetch } = setUp([made]);
      await expect(client.reservations.create(request, { idempotencyKey: key })).rejects.toMatchObject({
        name: "UsageError",
      });
      expect(fetch.sent).toEqual([]);
    },
  );
});

it("a cancellation is retried: cancelling twice is cancelling once", async () => {
  const { client, fetch, simulation } = setUp([down, jsonResponse({ id: "x", status: "cancelled" })]);
  await simulation.run(client.reservations.cancel("x"));
  expect(fetch.sent.map(({ init }) => init.method)).toEqual(["DELETE", "DELETE"]);
});
