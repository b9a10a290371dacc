import { batchResults, scopeNames } from "@bikeshare/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeKey } from "../src/partners/keys/key.rules.ts";
import { revokeKey } from "../src/partners/keys/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { keyContext } from "./built-app.ts";
import { type Calls, callsOn, expectAlways, expectError } from "./calls.ts";
import { endpoints, guarded, methodsOf, otherScopes } from "./endpoints.ts";
import { fillWorld } from "./walker-world.ts";

let app: TestApp;
let calls: Calls;

beforeAll(async () => {
  app = await startTestApp();
  await fillWorld(app);
  calls = callsOn(app);
});

// Advances the clock before each test, because failed authentications are limited by address.
beforeEach(() => app.clock.advance(61_000));

afterAll(() => app.close());

describe.each(guarded)("$method $path", (endpoint) => {
  const { scope, success, successStatus } = endpoint;
  const call = (headers: Record<string, string> = {}) => calls.send(endpoint, headers);

  it("answers 401 with exactly `WWW-Authenticate: Bearer` when no key is sent", async () => {
    const response = await call();
    expect(await expectError(response, 401, "unauthorized")).toMatch(/no credentials were provided/i);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(response.headers.get("ratelimit")).toBeNull();
  });

  it("answers 401 invalid_token to whatever credential is not a good key", async () => {
    const { key } = await app.issue();
    const revoked = await app.issue();
    await revokeKey(keyContext(app), app.systemId, revoked.id);
    const expired = await app.issue({ expiresAt: new Date(app.clock()) });
    const wrong: Record<string, string> = {
      "another scheme": `Basic ${key}`,
      "the key alone": key,
      "a missing space": `Bearer${key}`,
      "a second word": `Bearer ${key} x`,
      "no key": "Bearer",
      "a wrong checksum": `Bearer ${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`,
      "an unknown key": `Bearer ${makeKey("live", (bytes) => app.ids.randomBytes(bytes))}`,
      "a revoked key": `Bearer ${revoked.key}`,
      "an expired key": `Bearer ${expired.key}`,
    };
    for (const [what, authorization] of Object.entries(wrong)) {
      const response = await call({ authorization });
      const message = await expectError(response, 401, "unauthorized");
      expect(response.headers.get("www-authenticate"), what).toBe(`Bearer error="invalid_token"`);
      for (const secret of [key, revoked.key, expired.key]) expect(message).not.toContain(secret);
    }
  });

  it("lets a key with its scope alone in", async () => {
    const { key } = await calls.keyFor(endpoint);
    const response = await call({ authorization: `Bearer ${key}` });
    // 404 too, because an event is hidden from a key that may not read its resource.
    expect([successStatus, ...(scope === "events:read" ? [404] : [])]).toContain(response.status);
    await response.arrayBuffer();
  });

  it("answers 429 with Retry-After over the key's rate, and lets it in again after it", async () => {
    const all = scope === "operator" ? [] : [...scopeNames];
    const { key } = await calls.keyFor(endpoint, { rateLimit: 2, scopes: all });
    const remaining = [];
    for (const status of [successStatus, successStatus]) {
      const response = await call({ authorization: `Bearer ${key}` });
      expect(response.status).toBe(status);
      remaining.push(response.headers.get("ratelimit"));
      await response.arrayBuffer();
      app.clock.advance(10_000);
    }
    expect(remaining).toEqual([`"default";r=1;t=60`, `"default";r=0;t=50`]);
    const response = await call({ authorization: `Bearer ${key}` });
    await expectError(response, 429, "rate_limited");
    expect(response.headers.get("retry-after")).toBe("40");
    expect(response.headers.get("ratelimit-policy")).toBe(`"default";q=2;w=60`);
    expect(response.headers.get("ratelimit")).toBe(`"default";r=0;t=40`);
    app.clock.advance(40_000);
    expect((await call({ authorization: `Bearer ${key}` })).status).toBe(successStatus);
  });

  it("answers 200 or 201 with what the contract's schema says, and not an empty list", async () => {
    const response = await call(await calls.allowed(endpoint));
    expect(response.status).toBe(successStatus);
    expectAlways(response);
    const body: unknown = await response.json();
    expect(success.parse(body)).toEqual(body);
    if (typeof body === "object" && body !== null && "data" in body && Array.isArray(body.data))
      expect(body.data).not.toHaveLength(0);
    const { itemErrors } = endpoint.metadata;
    for (const { error } of itemErrors === undefined ? [] : batchResults.parse(body).results) {
      if (error !== null) expect(itemErrors).toContain(error.error);
    }
  });
});

describe.each(guarded.filter(({ scope }) => scope !== "any"))("$method $path", (endpoint) => {
  const { scope } = endpoint;

  it("answers 403 insufficient_scope to a key with every scope but its own, and counts nothing", async () => {
    const { key } = await app.issue({ scopes: otherScopes(scope), rateLimit: 5 });
    for (let repeat = 0; repeat < 7; repeat++) {
      const response = await calls.send(endpoint, { authorization: `Bearer ${key}` });
      expect(await expectError(response, 403, "forbidden")).toContain(scope);
      expect(response.headers.get("www-authenticate")).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
      expect(response.headers.get("ratelimit-policy")).toBe(`"default";q=5;w=60`);
      expect(response.headers.get("ratelimit")).toBe(`"default";r=5;t=0`);
    }
  });
});

describe.each(guarded.filter(({ scope }) => scope !== "operator"))("$method $path", (endpoint) => {
  it("answers 403 to an operator's key", async () => {
    const { key } = await app.issue({ partnerId: null, scopes: [] });
    const response = await calls.send(endpoint, { authorization: `Bearer ${key}` });
    expect(await expectError(response, 403, "forbidden")).toContain("operator key");
    expect(response.headers.get("www-authenticate")).toBe(`Bearer error="insufficient_scope"`);
  });
});

describe.each(endpoints)("$method $path for anybody who may call it", (endpoint) => {
  const { path, query, success, successStatus, statuses } = endpoint;

  it("refuses an unknown query parameter and names it", async () => {
    for (const name of ["colour", "Limit", "constructor", "__proto__"]) {
      const response = await calls.send(endpoint, await calls.allowed(endpoint), `${query || "?"}&${name}=blue`);
      expect(await expectError(response, 400, "invalid_parameter")).toBe(`unknown parameter ${name}.`);
    }
  });

  it("answers what the contract's schema says", async () => {
    const response = await calls.send(endpoint, endpoint.scope === "none" ? {} : await calls.allowed(endpoint));
    expect(response.status).toBe(successStatus);
    expectAlways(response);
    success.parse(await response.json());
  });

  it("answers other methods with 405 and says which there are", async () => {
    const headers = await calls.allowed(endpoint);
    const possible = methodsOf(path);
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      if (possible.includes(method)) continue;
      const response = await fetch(app.url + path, { method, headers });
      if (method === "HEAD") expect(response.status).toBe(405);
      else await expectError(response, 405, "method_not_allowed");
      expect(response.headers.get("allow")).toBe(possible.join(", "));
    }
    expect(statuses).toContain(405);
  });
});

describe.each(endpoints.filter(({ method }) => method === "GET"))("$method $path", (endpoint) => {
  it("answers HEAD as GET, without a body", async () => {
    const headers = { ...(await calls.allowed(endpoint)), "accept-encoding": "identity" };
    const read = async (method: string) => {
      const response = await fetch(app.url + endpoint.path, { method, headers });
      const seen = Object.fromEntries(response.headers);
      for (const name of ["date", "request-id", "ratelimit", "connection", "keep-alive"]) delete seen[name];
      // The ETag of /v1/me changes with each call, because the body contains the remaining requests.
      if (endpoint.path === "/v1/me") delete seen["etag"];
      return { status: response.status, headers: seen, body: await response.text() };
    };
    const get = await read("GET");
    expect(await read("HEAD")).toEqual({ ...get, body: "" });
  });
});

it("walks endpoints at all", () => {
  expect(guarded.length).toBeGreaterThanOrEqual(23);
  expect(new Set(endpoints.map(({ method, path }) => `${method} ${path}`)).size).toBe(endpoints.length);
});
