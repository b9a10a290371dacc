import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  jsonResponse,
  KEY,
  errorResponse,
  script,
  type Scripted,
  simulate,
  simulatedClient,
} from "../test/simulation.ts";
import { BikeShare } from "./client.ts";
import type * as errors from "./errors/errors.ts";
import { ApiError, BikeShareError, isApiError, isBikeShareError } from "./errors/errors.ts";
import type { Hooks, RequestDetails, ResponseDetails, RetryDetails } from "./hooks.ts";
import type { ClientOptions } from "./options.ts";

const baseUrl = "https://bikes.example";

/** Returns a client with a scripted fetch, in simulated time. */
function setUp(lines: readonly Scripted[], options: Partial<ClientOptions> = {}) {
  const fetch = script(...lines);
  const simulation = simulate(fetch);
  return { fetch, simulation, client: simulatedClient(simulation, options) };
}

/** Returns a promise that rejects with a value that is not an error, as a custom fetch may do. */
async function rejected(reason: unknown): Promise<never> {
  throw reason;
}

/** Returns the error that a call throws. */
function caught(call: PromiseLike<unknown>): Promise<BikeShareError> {
  return Promise.resolve(call).then(
    () => expect.unreachable("it did not throw"),
    (error: unknown) => error as BikeShareError,
  );
}

describe("the service's address", () => {
  it.each([
    "https://bikes.example",
    "https://bikes.example/",
    "https://bikes.example:8443/under/here/",
    "http://localhost:8080",
    "http://app.localhost",
    "http://127.0.0.1:1",
    "http://127.9.9.9",
    "http://[::1]:3000",
    "HTTPS://BIKES.EXAMPLE",
  ])("may be %s", (url) => {
    expect(() => new BikeShare({ apiKey: KEY, baseUrl: url })).not.toThrow();
  });

  it.each([
    "http://bikes.example",
    "http://127.0.0.1.example",
    "http://localhost.example",
    "http://127.0.0.1@evil.example",
    "http://localhost@evil.example",
    "http://evil.example#localhost",
    "http://10.0.0.1",
    "http://0.0.0.0",
    "http://[::2]",
    "ftp://bikes.example",
    "https://user:pass@bikes.example",
    "https://bikes.example?x=1",
    "https://bikes.example#x",
    "bikes.example",
    "//bikes.example",
    KEY,
  ])("rejects %s, and does not repeat it", (url) => {
    const make = () => new BikeShare({ apiKey: KEY, baseUrl: url });
    expect(make).toThrow(BikeShareError);
    expect(make).toThrow(/^baseUrl must be https/);
    expect(make).not.toThrow(KEY);
  });

  it("keeps the base URL's path, and encodes an id as one path segment", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" })], { baseUrl: "https://bikes.example/api/" });
    await simulation.run(client.stations.get("a/b ?#%ü"));
    expect(fetch.sent[0]!.url.href).toBe("https://bikes.example/api/v1/stations/a%2Fb%20%3F%23%25%C3%BC");
  });

  it.each(["", ".", "..", undefined, 7])("rejects the id %j", async (id) => {
    const { client, fetch } = setUp([jsonResponse({ id: "x" })]);
    expect(await caught(client.rides.get(id as string))).toMatchObject({ name: "UsageError", attempts: 0 });
    expect(fetch.sent).toEqual([]);
  });
});

describe("options", () => {
  it.each<[string, object]>([
    ["apiKey", { apiKey: undefined }],
    ["apiKey", { apiKey: "" }],
    ["apiKey", { apiKey: "secret\n" }],
    ["apiKey", { apiKey: "seçret" }],
    ["maxRetries", { maxRetries: -1 }],
    ["maxRetries", { maxRetries: "many" }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["totalTimeoutMs", { totalTimeoutMs: Number.NaN }],
    // Options of other clients, which a program without types may use by mistake.
    ["unknown option timeout", { timeout: "many" }],
    ["unknown option idempotencyKey", { idempotencyKey: "secret" }],
    ["baseUrl must not end with /v1", { baseUrl: "https://bikes.example/v1" }],
    ["baseUrl must not end with /v1", { baseUrl: "https://bikes.example/v1/" }],
  ])("rejects with `%s`, and without the value, when they are %j", (name, options) => {
    const make = () => new BikeShare({ apiKey: KEY, baseUrl, ...options });
    expect(make).toThrow(BikeShareError);
    expect(make).toThrow(name);
    expect(make).not.toThrow(/secret|seçret|many/);
  });

  it.each([
    ["apiKey is not set", { apiKey: undefined }],
    ["apiKey is not set", { apiKey: "" }],
    ["apiKey must be ASCII without spaces around it", { apiKey: "secret\n" }],
    ["baseUrl is not set", { baseUrl: undefined }],
    ["baseUrl is not set", { baseUrl: "" }],
  ])("rejects with `%s`, which names the likely mistake, when they are %j", (message, options) => {
    expect(() => new BikeShare({ apiKey: KEY, baseUrl, ...(options as object) })).toThrow(message);
  });

  it("uses the defaults for undefined options, of the client and of a call", async () => {
    const { client, simulation } = setUp([errorResponse(500, "internal")], { maxRetries: undefined, fetch: undefined });
    const error = await simulation.run(
      caught(client.rides.get("x", { maxRetries: undefined, totalTimeoutMs: undefined })),
    );
    expect(error.attempts).toBe(5);
  });

  it("calls an apiKey function before each request", async () => {
    const keys = ["first", "second"];
    const { client, fetch, simulation } = setUp([errorResponse(500, "internal"), jsonResponse({ id: "x" })], {
      apiKey: () => Promise.resolve(keys.shift() ?? ""),
    });
    await simulation.run(client.rides.get("x"));
    expect(fetch.sent.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer first", "Bearer second"]);
    expect(await simulation.run(caught(client.rides.get("x")))).toMatchObject({ name: "UsageError" });
  });

  it("sends userAgent before the package's own name, except in a browser", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" })], { userAgent: "acme-planner/2.1" });
    await simulation.run(client.rides.get("x"));
    expect(fetch.sent[0]!.headers.get("user-agent")).toMatch(/^acme-planner\/2\.1 bikeshare-sdk\/\d/);
    const browser = script(jsonResponse({ id: "x" }));
    const page = simulate(browser);
    await page.run(simulatedClient({ ...page, platform: { ...page.platform, document: {} } }).rides.get("x"));
    expect(browser.sent[0]!.headers.has("user-agent")).toBe(false);
  });

  it("sends with the given `fetch`, whose arguments the platform's own accepts", async () => {
    const fetch = script(jsonResponse({ id: "x" }));
    const { client, simulation } = setUp([new Error("not this one")], { fetch });
    await simulation.run(client.rides.get("x"));
    expect(new Request(fetch.sent[0]!.url, fetch.sent[0]!.init).headers.get("authorization")).toBe(`Bearer ${KEY}`);
  });

  it("calls `validate` for every success, and throws what it returns", async () => {
    const asked: string[] = [];
    const validate = (operation: string) => {
      asked.push(operation);
      return operation.endsWith("/:id") ? "a ride without wheels" : undefined;
    };
    const { client, simulation } = setUp([jsonResponse({ data: [], page: 1, total_pages: 1 })], { validate });
    await simulation.run(client.rides.list());
    expect(await simulation.run(caught(client.rides.get("x")))).toMatchObject({
      name: "UnexpectedResponseError",
      message: "GET /v1/rides/:id: unexpected response: a ride without wheels",
    });
    expect(asked).toEqual(["GET /v1/rides", "GET /v1/rides/:id"]);
  });
});

describe("a request", () => {
  it("has the key in its header and nowhere else", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" }, 201)]);
    await simulation.run(client.reservations.create({ bike_id: "b" }));
    const [{ url, init, headers }] = fetch.sent as [(typeof fetch.sent)[0]];
    expect(headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(headers.get("content-type")).toBe("application/json");
    expect(
      [url.href, JSON.stringify(init.body), ...[...headers].filter(([name]) => name !== "authorization").flat()].join(),
    ).not.toContain(KEY);
  });

  it("has no key where none is needed", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ status: "ok" })]);
    await simulation.run(client.health.ready());
    expect(fetch.sent[0]!.headers.has("authorization")).toBe(false);
  });

  it("has the given filters, and none that are undefined", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ data: [], page: 1, total_pages: 1 })]);
    await simulation.run(
      client.rides.list({ status: "completed", bike_id: undefined, started_after: "2026-01-01T00:00:00+01:00" }),
    );
    expect(fetch.sent[0]!.url.search).toBe("?status=completed&started_after=2026-01-01T00%3A00%3A00%2B01%3A00");
  });
});

describe("a response that is not the service's", () => {
  it.each<[string, Response, RegExp]>([
    ["a redirect", new Response(null, { status: 302, headers: { location: "https://evil.example" } }), /a redirect$/],
    ["a permanent redirect", new Response(null, { status: 308 }), /a redirect/],
    ["what is not changed", new Response(null, { status: 304 }), /a redirect/],
    ["another success", jsonResponse({ id: "x" }, 202), /status 202$/],
    ["nothing", new Response(null, { status: 204 }), /status 204$/],
    ["a page", new Response("<html></html>"), /not JSON \(a proxy\?\)$/],
    ["half of it", new Response('{"id":'), /not JSON \(a proxy\?\)$/],
    ["a string", jsonResponse("ride"), /not JSON \(a proxy\?\)$/],
    ["null", jsonResponse(null), /not JSON \(a proxy\?\)$/],
  ])("%s is an error that is not retried", async (_, response, message) => {
    const { client, fetch, simulation } = setUp([response]);
    const error = await simulation.run(caught(client.rides.get("x")));
    expect(error).toMatchObject({ name: "UnexpectedResponseError", status: response.status, attempts: 1 });
    expect(error.message).toMatch(message);
    expect(fetch.sent).toHaveLength(1);
  });

  it("is rejected too where a browser hides the redirect or a custom fetch has followed it", async () => {
    for (const hidden of [
      { type: "opaqueredirect", status: 0 },
      { redirected: true, status: 200 },
    ]) {
      const line = () => Promise.resolve(Object.defineProperties(jsonResponse({ id: "x" }), values(hidden)));
      const { client, simulation } = setUp([line]);
      // The scripted fetch would copy the response, and lose the properties that are defined on it.
      const own = simulatedClient(simulation, { fetch: line });
      expect(await simulation.run(caught(own.rides.get("x")))).toMatchObject({ name: "UnexpectedResponseError" });
      expect(client).toBeDefined();
    }
  });

  it("never lets fetch follow a redirect itself", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" })]);
    await simulation.run(client.rides.get("x"));
    expect(fetch.sent[0]!.init.redirect).toBe("manual");
  });
});

function values(properties: object): PropertyDescriptorMap {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, { value: value as unknown }]));
}

describe("an error of the service", () => {
  it.each([
    [400, "InvalidRequestError"],
    [401, "UnauthorizedError"],
    [403, "ForbiddenError"],
    [404, "NotFoundError"],
    [405, "InvalidRequestError"],
    [408, "ApiError"],
    [409, "ConflictError"],
    [410, "InvalidRequestError"],
    [413, "InvalidRequestError"],
    [415, "InvalidRequestError"],
    [422, "InvalidRequestError"],
    [429, "RateLimitError"],
    [500, "ServerError"],
    [503, "ServerError"],
    [599, "ServerError"],
  ])("of status %i is a %s, whatever its code", async (status, name) => {
    const { client, simulation } = setUp([errorResponse(status, "a_code_of_tomorrow", { "retry-after": "7" })], {
      maxRetries: 0,
    });
    const error = await simulation.run(caught(client.rides.get("x")));
    expect(error).toBeInstanceOf(ApiError);
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name,
      attempts: 1,
      status,
      code: "a_code_of_tomorrow",
      requestId: `req-${status}`,
      retryAfterMs: 7000,
    });
    expect(error.message).toBe(`${status} a_code_of_tomorrow: Why a_code_of_tomorrow.`);
  });

  it.each(["constructor", "__proto__"])("has its class by the status when its code is %s", async (code) => {
    const { client, simulation } = setUp([errorResponse(502, code)], { maxRetries: 0 });
    const error = await simulation.run(caught(client.rides.get("x")));
    expect(error).toMatchObject({ name: "ServerError", status: 502, code });
  });

  it.each(["<html>", "", "null", '"text"', "[]", '{"error":7,"message":{}}'])(
    "may have %j for a body",
    async (body) => {
      const { client, simulation } = setUp([new Response(body, { status: 502 })], { maxRetries: 0 });
      const error = await simulation.run(caught(client.rides.get("x")));
      expect(error).toMatchObject({
        name: "ServerError",
        status: 502,
        message: "502 without an error code (a proxy?)",
      });
      expect(error.code).toBeUndefined();
    },
  );

  it("is recognized by the guards across copies of the package, and by its code", async () => {
    const copy = (await import(`./errors/errors.ts?${"copy"}`)) as typeof errors;
    const other: unknown = new copy.ConflictError("409", { code: "no_bike_available" });
    expect(other).not.toBeInstanceOf(BikeShareError);
    expect([isBikeShareError(other), isApiError(other), isApiError(other, "no_bike_available")]).toEqual([
      true,
      true,
      true,
    ]);
    expect(isApiError(other, "station_offline")).toBe(false);
    expect([isBikeShareError, isApiError].map((is) => is(new copy.TimeoutError("late")))).toEqual([true, false]);
    for (const nothing of [undefined, null, 1, "x", {}, new Error("x")]) {
      expect([isBikeShareError(nothing), isApiError(nothing)]).toEqual([false, false]);
    }
  });
});

describe("the key", () => {
  /** Returns all texts in which somebody could see a value. */
  const shown = (value: unknown): string =>
    [
      inspect(value, { depth: Infinity, showHidden: true, getters: true }),
      JSON.stringify(value),
      String(value),
      (value as Error).stack,
    ].join("\n");

  it("is not visible in a client", () => {
    expect(shown(new BikeShare({ apiKey: KEY, baseUrl }))).not.toContain(KEY);
  });

  it.each<[string, Scripted]>([
    ["of the service, which repeats it", jsonResponse({ error: `no ${KEY}`, message: `Who is ${KEY}?` }, 401)],
    [
      "of fetch, which repeats it",
      Object.assign(new TypeError(`bad header Bearer ${KEY}`), {
        config: { headers: { authorization: `Bearer ${KEY}` } },
      }),
    ],
    [
      "of fetch, deep inside",
      new Error("failed", { cause: new Error("deeper", { cause: { message: KEY, code: KEY, headers: KEY } }) }),
    ],
    ["of fetch, which throws no error", () => rejected(KEY)],
    ["of a page that repeats it", new Response(KEY, { status: 500 })],
    ["of an answer that is none", jsonResponse([KEY], 203)],
  ])("is in no error %s", async (_, line) => {
    const { client, simulation } = setUp([line], { maxRetries: 0 });
    const error = await simulation.run(caught(client.rides.get("x")));
    expect(error).toBeInstanceOf(BikeShareError);
    expect(shown(error)).not.toContain(KEY);
  });

  it.each(["e", "id", "test", "_", "1"])(
    "leaves what the service answers as it is, though it holds %j, the key",
    async (apiKey) => {
      const ride = { id: "station-test-1", name: "Contest Square", me: "key_1", n: 11 };
      const simulation = simulate(script(jsonResponse(ride), errorResponse(409, "ride_conflict")));
      const client = simulatedClient(simulation, { apiKey });
      expect(await simulation.run(client.rides.get("x"))).toEqual(ride);
      const error = await simulation.run(caught(client.rides.get("x")));
      expect([(error as ApiError).code, isApiError(error, "ride_conflict")]).toEqual(["ride_conflict", true]);
    },
  );

  it("is not passed to hooks", async () => {
    const notes: unknown[] = [];
    const note = (context: unknown) => void notes.push(context);
    const hooks: Hooks = { onRequest: note, onResponse: note, onRetry: note, onRateLimit: note };
    const { client, simulation } = setUp([errorResponse(429, "rate_limited"), jsonResponse({ id: "x" })], hooks);
    await simulation.run(client.rides.get("x"));
    expect(notes).toHaveLength(6);
    expect(shown(notes)).not.toContain(KEY);
    expect((notes[0] as RequestDetails).headers["authorization"]).toBe("Bearer [redacted]");
  });
});

describe("the reason of a broken connection", () => {
  it("is in the message and kept as the cause, with its code", async () => {
    const down = new TypeError("fetch failed", {
      cause: Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" }),
    });
    const { client, simulation } = setUp([down], { maxRetries: 0 });
    expect(await simulation.run(caught(client.rides.get("x")))).toMatchObject({
      name: "ConnectionError",
      message: "GET /v1/rides/:id: no response: connect refused",
      cause: { message: "connect refused", code: "ECONNREFUSED" },
    });
  });
});

describe("hooks", () => {
  it("are called for each request, response and retry, in order", async () => {
    const calls: string[] = [];
    const { client, simulation } = setUp(
      [errorResponse(503, "unavailable"), jsonResponse({ id: "x" }, 200, { "request-id": "req-1" })],
      {
        onRequest: ({ operation, method, attempt }: RequestDetails) =>
          void calls.push(`${attempt} ${method} ${operation}`),
        onResponse: ({ status, requestId, durationMs }: ResponseDetails) =>
          void calls.push(`${status} ${requestId} ${durationMs}`),
        onRetry: ({ error, delayMs, request }: RetryDetails) =>
          void calls.push(`${error.name} ${delayMs} ${request.attempt}`),
      },
    );
    await simulation.run(client.rides.get("x"));
    const operation = "GET GET /v1/rides/:id";
    expect(calls).toEqual([`1 ${operation}`, "503 req-503 0", "ServerError 250 1", `2 ${operation}`, "200 req-1 0"]);
  });

  it("end the call with the error that they throw", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" })], {
      onResponse: () => {
        throw new Error("a hook's own error");
      },
    });
    await expect(simulation.run(client.rides.get("x"))).rejects.toThrow("a hook's own error");
    expect(fetch.sent).toHaveLength(1);
  });
});

describe("a call", () => {
  it("returns its response with its data", async () => {
    const { client, simulation } = setUp([jsonResponse({ id: "x" }, 200, { "request-id": "req-1", "x-more": "1" })]);
    const { data, response, requestId, attempts } = await simulation.run(client.rides.get("x").withResponse());
    expect([data, response.status, response.headers.get("x-more"), requestId, attempts]).toEqual([
      { id: "x" },
      200,
      "1",
      "req-1",
      1,
    ]);
    const page = await simulation.run(
      setUp([jsonResponse({ data: [], page: 1, total_pages: 1 })])
        .client.rides.list()
        .withResponse(),
    );
    expect([page.data.data, page.attempts]).toEqual([[], 1]);
  });

  it("starts without being awaited, and is a promise", async () => {
    const { client, fetch, simulation } = setUp([jsonResponse({ id: "x" }, 201)]);
    const call = client.reservations.create({ bike_id: "b" });
    await simulation.run(simulation.sleep(0));
    expect(fetch.sent).toHaveLength(1);
    expect(await Promise.all([call, call.finally(() => undefined), call.then(({ id }) => id)])).toEqual([
      { id: "x" },
      { id: "x" },
      "x",
    ]);
    const failing = setUp([errorResponse(404, "not_found")]);
    expect(await failing.simulation.run(failing.client.rides.get("x").catch(() => "none"))).toBe("none");
  });
});

describe("the events since a checkpoint", () => {
  const event = (id: string) => ({ id, event: "ride.started", occurred_at: "2026-06-01T12:00:00.000Z", data: {} });
  const page = (...ids: readonly string[]) => jsonResponse({ data: ids.map(event), page: 1, total_pages: 1 });
  const search = ({ url }: { readonly url: URL }) => url.search;

  it("are requested after it, and the last one returned is the next checkpoint", async () => {
    const { client, fetch, simulation } = setUp([page("e2", "e3"), page()]);
    const events = client.events.since("e1");
    expect(events.checkpoint()).toBe("e1");
    expect(await simulation.run(events.toArray({ limit: 1 }))).toEqual([event("e2")]);
    expect(events.checkpoint()).toBe("e2");
    const walk = client.events.since(events.checkpoint())[Symbol.asyncIterator]();
    expect(await simulation.run(walk.next())).toMatchObject({ done: true });
    expect(walk.checkpoint()).toBe("e2");
    expect(fetch.sent.map(search)).toEqual(["?after=e1&limit=200", "?after=e2&limit=200"]);
  });

  it("begin with the oldest when there is no checkpoint yet", async () => {
    const { client, fetch, simulation } = setUp([page()]);
    const events = client.events.since(null, { event: "ride.started" }); // null, as a database returns it
    await simulation.run(events.toArray({ limit: 9 }));
    expect(events.checkpoint()).toBeUndefined();
    expect(fetch.sent.map(search)).toEqual(["?event=ride.started&limit=200"]);
  });

  it("continue from a checkpoint passed to the list", async () => {
    const { client, fetch, simulation } = setUp([page("e9")]);
    const events = client.events.list({ event: "ride.started" }).resumeFrom("e8");
    await simulation.run(events.pages().next());
    expect(events.checkpoint()).toBe("e9");
    expect(fetch.sent.map(search)).toEqual(["?event=ride.started&after=e8&limit=200"]);
  });

  it("throw CheckpointLostError when the checkpoint is no longer kept, and only then", async () => {
    const lost = setUp([errorResponse(410, "checkpoint_lost")]);
    expect(await lost.simulation.run(caught(lost.client.events.since("e1").toArray({ limit: 1 })))).toMatchObject({
      name: "CheckpointLostError",
      status: 410,
      code: "checkpoint_lost",
    });
    const mistyped = setUp([errorResponse(400, "invalid_parameter")]);
    expect(await mistyped.simulation.run(caught(mistyped.client.events.since("e1")))).toMatchObject({
      name: "InvalidRequestError",
      code: "invalid_parameter",
    });
  });
});
