import { errorBody } from "@bikeshare/contract";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeKey } from "../src/keys/key.ts";
import { revokeKey } from "../src/keys/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { keyContext } from "./built-app.ts";
import { endpoints, guarded, otherScopes, sampleId } from "./endpoints.ts";
import { bikeRow, rideRow, rowWriter, stationRow } from "./rows.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
  const write = rowWriter(app);
  await write.stations([stationRow({ id: sampleId }), stationRow({ id: "sample-2" })]);
  await write.bikes([
    bikeRow({ id: sampleId }),
    bikeRow({ id: "sample-2", vehicle_state: "on_trip", lat: null, lon: null }),
  ]);
  await write.rides([
    rideRow({ id: sampleId, started_at: "2026-05-01T07:00:00.000Z" }),
    rideRow({ id: "sample-2", started_at: "2026-05-01T07:30:00.000Z", status: "started", ended_at: null }),
  ]);
});

// Refused credentials are counted by address; each test begins with none.
beforeEach(() => app.clock.advance(61_000));

afterAll(() => app.close());

/** Holds an answer against what is true of every error. */
async function expectError(response: Response, status: number, error: string): Promise<string> {
  expect(response.status).toBe(status);
  expectAlways(response);
  const text = await response.text();
  const body = errorBody.strict().parse(JSON.parse(text));
  expect(text).toBe(JSON.stringify({ error: body.error, message: body.message }));
  expect(body.error).toBe(error);
  return body.message;
}

function expectAlways(response: Response): void {
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("request-id")).toMatch(/^req_\w+$/);
}

describe.each(guarded)("$method $path", ({ method, path, scope, success }) => {
  const call = (headers: Record<string, string> = {}, query = "") => fetch(app.url + path + query, { method, headers });

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
    const { key } = await app.issue({ scopes: scope === "any" || scope === "none" ? [] : [scope] });
    const response = await call({ authorization: `Bearer ${key}` });
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });

  it("answers 429 with Retry-After over the key's rate, and lets it in again after it", async () => {
    const { key } = await app.issue({ rateLimit: 2 });
    const remaining = [];
    for (const status of [200, 200]) {
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
    expect((await call({ authorization: `Bearer ${key}` })).status).toBe(200);
  });

  it("answers 200 with what the contract's schema says, and not an empty list", async () => {
    const response = await app.get(path);
    expect(response.status).toBe(200);
    expectAlways(response);
    const body: unknown = await response.json();
    expect(success.parse(body)).toEqual(body);
    if (typeof body === "object" && body !== null && "data" in body) expect(body.data).toHaveLength(2);
  });
});

describe.each(guarded.filter(({ scope }) => scope !== "any"))("$method $path", ({ method, path, scope }) => {
  it("answers 403 insufficient_scope to a key with every scope but its own, and counts nothing", async () => {
    const { key } = await app.issue({ scopes: otherScopes(scope), rateLimit: 5 });
    for (let repeat = 0; repeat < 7; repeat++) {
      const response = await fetch(app.url + path, { method, headers: { authorization: `Bearer ${key}` } });
      expect(await expectError(response, 403, "forbidden")).toContain(scope);
      expect(response.headers.get("www-authenticate")).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
      expect(response.headers.get("ratelimit-policy")).toBe(`"default";q=5;w=60`);
      expect(response.headers.get("ratelimit")).toBe(`"default";r=5;t=0`);
    }
  });
});

describe.each(endpoints)("$method $path for anybody who may call it", ({ path, scope, success }) => {
  const everything = async () => ({ authorization: `Bearer ${(await app.issue()).key}` });

  it("refuses an unknown query parameter and names it", async () => {
    for (const name of ["colour", "Limit", "constructor", "__proto__"]) {
      const response = await app.get(`${path}?${name}=blue`);
      expect(await expectError(response, 400, "invalid_parameter")).toContain(name);
    }
  });

  it("answers what the contract's schema says", async () => {
    const response = await app.get(path, scope === "none" ? { key: null } : {});
    expect(response.status).toBe(200);
    expectAlways(response);
    success.parse(await response.json());
  });

  it("answers HEAD as GET, without a body", async () => {
    const headers = { ...(await everything()), "accept-encoding": "identity" };
    const read = async (method: string) => {
      const response = await fetch(app.url + path, { method, headers });
      const seen = Object.fromEntries(response.headers);
      for (const name of ["date", "request-id", "ratelimit", "connection", "keep-alive"]) delete seen[name];
      // What /v1/me says of the budget changes with each call.
      if (path === "/v1/me") delete seen["etag"];
      return { status: response.status, headers: seen, body: await response.text() };
    };
    const get = await read("GET");
    expect(await read("HEAD")).toEqual({ ...get, body: "" });
  });

  it("answers other methods with 405 and says which there are", async () => {
    const headers = await everything();
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      const response = await fetch(app.url + path, { method, headers });
      await expectError(response, 405, "method_not_allowed");
      expect(response.headers.get("allow")).toBe("GET, HEAD");
    }
  });
});

it("walks endpoints at all", () => {
  expect(guarded.length).toBeGreaterThanOrEqual(7);
  expect(new Set(endpoints.map(({ path }) => path)).size).toBe(endpoints.length);
});
