import { get as getOverTls, type RequestOptions } from "node:https";
import { errorBody } from "@bikeshare/contract";
import { generate } from "selfsigned";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { makeKey } from "../src/partners/keys/key.rules.ts";
import { keysOf } from "../src/partners/keys/service.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";

let app: TestApp;
/** A service that trusts this machine as a proxy, so that tests can pretend to come from any address. */
let proxied: BuiltApp;

beforeAll(async () => {
  app = await startTestApp();
  proxied = await buildAnother(app, { trustedProxies: new NetworkList(["127.0.0.1"]) });
});

beforeEach(() => app.clock.advance(61_000));

afterAll(async () => {
  await proxied.close();
  await app.close();
});

async function expectError(response: Response, status: number, error: string): Promise<void> {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("request-id")).not.toBeNull();
  expect(errorBody.parse(await response.json()).error).toBe(error);
}

const compromisedAt = async (id: string) =>
  (await keysOf(app, app.systemId)).find((row) => row.id === id)?.compromised_at;

async function compromises(id: string) {
  return app.db.query<{ actor: string; detail: unknown }>(
    statement("", "select actor, detail from audit_log where subject = $1 and action = 'key.compromised'"),
    [id],
  );
}

describe("plain HTTP from another machine", () => {
  const plainly = (path: string, headers: Record<string, string> = {}, url = proxied.url) =>
    fetch(url + path, {
      redirect: "manual",
      headers: { "x-forwarded-proto": "http", "x-forwarded-for": "192.0.2.1", ...headers },
    });

  it("is answered 403 https_required on every path, with a good key, with a wrong one and with none", async () => {
    const { key } = await app.issue();
    for (const path of ["/v1/rides", "/v1/rides/x", "/v1/nothing", "/nothing", "/openapi.json", "/docs", "/"]) {
      await expectError(await plainly(path), 403, "https_required");
      await expectError(await plainly(path, { authorization: `Bearer ${key}` }), 403, "https_required");
      await expectError(await plainly(path, { authorization: "Bearer nonsense" }), 403, "https_required");
    }
  });

  it("is answered where a probe asks for the process's health, unless it brings a key", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      const response = await plainly(path);
      expect([path, response.status, await response.json()]).toEqual([path, 200, { status: "ok" }]);
      const { id, key } = await app.issue();
      await expectError(await plainly(path, { authorization: `Bearer ${key}` }), 403, "https_required");
      expect(await compromisedAt(id)).not.toBeNull();
    }
  });

  it("marks a known key as compromised, once, in the key and in the audit log, and leaves it working", async () => {
    const { id, key } = await app.issue();
    const at = new Date(app.clock());
    await plainly("/v1/rides", { authorization: `Bearer ${key}` });
    app.clock.advance(5_000);
    await plainly("/v1/rides", { authorization: `bearer   ${key}` });
    expect(await compromisedAt(id)).toEqual(at);
    expect(await compromises(id)).toEqual([{ actor: "server", detail: { where: "plain HTTP" } }]);
    expect((await app.get("/v1/me", { key })).status).toBe(200);
  });

  it("looks nothing up and uses up no budget", async () => {
    const { key } = await app.issue({ rateLimit: 1 });
    for (let repeat = 0; repeat < 3; repeat++) {
      const response = await plainly("/v1/me", { authorization: `Bearer ${key}` });
      expect(response.headers.get("ratelimit")).toBeNull();
      await response.arrayBuffer();
    }
    const headers = { "x-forwarded-proto": "https", authorization: `Bearer ${key}` };
    expect((await fetch(`${proxied.url}/v1/me`, { headers })).status).toBe(200);
  });

  it("does not count as a use of the key", async () => {
    const third = await buildAnother(app, { trustedProxies: new NetworkList(["127.0.0.1"]) });
    const { id, key } = await app.issue();
    await plainly("/v1/me", { authorization: `Bearer ${key}` }, third.url);
    // Closing writes the recorded uses of keys.
    await third.close();
    expect((await keysOf(app, app.systemId)).find((row) => row.id === id)?.last_used_at).toBeNull();
  });

  it("says nothing of whether a key exists", async () => {
    const known = (await app.issue()).key;
    const unknown = makeKey("live", (bytes) => app.ids.randomBytes(bytes));
    const texts = await Promise.all(
      [known, unknown].map(async (key) => (await plainly("/v1/me", { authorization: `Bearer ${key}` })).text()),
    );
    expect(texts[0]).toBe(texts[1]);
  });

  it("behind a proxy is not assumed to be https because a header is missing", async () => {
    const { key } = await app.issue();
    const headers = { authorization: `Bearer ${key}`, "x-forwarded-for": "192.0.2.1" };
    await expectError(await fetch(`${proxied.url}/v1/me`, { headers }), 403, "https_required");
  });
});

describe("a proxy's word", () => {
  it("is taken from trusted proxies", async () => {
    const { key } = await app.issue();
    const headers = { authorization: `Bearer ${key}`, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.1" };
    expect((await fetch(`${proxied.url}/v1/me`, { headers })).status).toBe(200);
  });

  it("makes a request from this machine insecure, though nobody named the proxy, and marks the key as compromised", async () => {
    const other = await buildAnother(app);
    const { id, key } = await app.issue();
    const read = (headers: Record<string, string>) =>
      fetch(`${other.url}/v1/me`, { headers: { authorization: `Bearer ${key}`, ...headers } });
    expect((await read({})).status).toBe(200);
    for (let repeat = 0; repeat < 2; repeat++) {
      const response = await read({ "x-forwarded-proto": "http", "x-forwarded-for": "203.0.113.9" });
      await expectError(response, 403, "https_required");
    }
    expect(await compromises(id)).toEqual([{ actor: "server", detail: { where: "plain HTTP" } }]);
    const warnings = other.logged.filter((line) => String(line["msg"]).includes("TRUSTED_PROXIES"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ level: 50, msg: expect.stringContaining("does not name it") as string });
    await other.close();
  });

  it("that says nothing of the scheme is refused, and logged once", async () => {
    const other = await buildAnother(app, { trustedProxies: new NetworkList(["127.0.0.1"]) });
    const { id, key } = await app.issue();
    for (const headers of [{}, { "x-forwarded-for": "203.0.113.9" }]) {
      const response = await fetch(`${other.url}/v1/me`, { headers: { authorization: `Bearer ${key}`, ...headers } });
      await expectError(response, 403, "https_required");
    }
    expect(await compromisedAt(id)).not.toBeNull();
    const warnings = other.logged.filter((line) => String(line["msg"]).includes("X-Forwarded-Proto"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ level: 50 });
    await other.close();
  });

  it("decides under which address refused credentials are counted", async () => {
    const guess = (from: string) =>
      fetch(`${proxied.url}/v1/me`, {
        headers: { "x-forwarded-proto": "https", "x-forwarded-for": from, authorization: "Bearer wrong" },
      });
    for (let sent = 0; sent < 120; sent++) expect((await guess(`198.51.100.${sent}, 192.0.2.9`)).status).toBe(401);
    const refused = await guess("203.0.113.5, 192.0.2.9");
    expect(refused.headers.get("retry-after")).toBe("60");
    await expectError(refused, 429, "rate_limited");
    expect((await guess("192.0.2.10")).status).toBe(401);
    const { key } = await app.issue();
    const headers = { "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.10", authorization: `Bearer ${key}` };
    expect((await fetch(`${proxied.url}/v1/me`, { headers })).status).toBe(200);
    app.clock.advance(60_000);
    expect((await guess("192.0.2.9")).status).toBe(401);
  });
});

describe("a key in the URL", () => {
  it.each(["/v1/rides?api_key=", "/v1/rides?access_token=Bearer%20", "/v1/stations/", "/nothing?", "/healthz?x="])(
    "is refused with 400 and is marked as compromised: %s",
    async (path) => {
      const { id, key } = await app.issue();
      const response = await app.get(path + key, { key: null });
      const text = await response.clone().text();
      expect(text).not.toContain(key);
      await expectError(response, 400, "invalid_parameter");
      expect(await compromisedAt(id)).toEqual(new Date(app.clock()));
      expect(await compromises(id)).toEqual([{ actor: "server", detail: { where: "query string" } }]);
    },
  );

  it("is refused though the header holds a good key too", async () => {
    const { key } = await app.issue();
    await expectError(await app.get(`/v1/rides?key=${key}`), 400, "invalid_parameter");
  });

  it("that we did not make is refused all the same, and is marked nowhere", async () => {
    const unknown = makeKey("live", (bytes) => app.ids.randomBytes(bytes));
    await expectError(await app.get(`/v1/rides?key=${unknown}`, { key: null }), 400, "invalid_parameter");
  });

  it("and in nothing that was logged", () => {
    const lines = JSON.stringify([app.logged, proxied.logged]);
    expect(lines).not.toMatch(/bss_(live|test|operator)_[0-9A-Za-z]/);
  });
});

describe("our own TLS", () => {
  it("serves the interface, over TLS only", async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
    });
    const secure = await buildAnother(app, { https: { cert, key } });
    expect(secure.url).toMatch(/^https:/);
    const issued = await app.issue();
    const read = (options: RequestOptions) =>
      new Promise<{ status: number | undefined; type: string | undefined; body: string }>((resolve, reject) => {
        getOverTls(`${secure.url}/v1/me`, { ca: cert, ...options }, (response) => {
          let body = "";
          response.setEncoding("utf8").on("data", (part: string) => (body += part));
          response.on("end", () =>
            resolve({ status: response.statusCode, type: response.headers["content-type"], body }),
          );
        }).on("error", reject);
      });
    const answer = await read({ headers: { authorization: `Bearer ${issued.key}` } });
    expect(answer).toMatchObject({ status: 200, type: "application/json" });
    expect(JSON.parse(answer.body)).toMatchObject({ key_id: issued.id });
    expect(await read({})).toMatchObject({ status: 401 });
    await expect(fetch(secure.url.replace("https:", "http:"))).rejects.toThrow();
    await secure.close();
  });
});
