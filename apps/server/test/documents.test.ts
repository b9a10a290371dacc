import { once } from "node:events";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as requestOverTls } from "node:https";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { generate } from "selfsigned";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { NetworkList } from "../src/outbound/addresses/address-guard.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { sendRaw } from "./raw-http.ts";

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});

beforeEach(() => app.clock.advance(61_000));

afterAll(() => app.close());

/** Sends a request. @returns the response, with its body as it was sent, compressed or not */
async function call(path: string, headers: Record<string, string> = {}, { method = "GET", url = app.url } = {}) {
  const sent = plainRequest(url + path, { method, headers }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) };
}

const documents = [
  "/openapi.json",
  "/openapi.json?open",
  "/openapi/operator.json",
  "/openapi/gbfs.json",
  "/docs",
  "/docs/receiving-webhooks",
  "/docs/webhook-vectors.json",
  "/docs/css/guides.css",
  "/docs/js/guides.js",
  "/docs/reference",
  "/docs/operator",
  "/docs/js/partners.js",
  "/docs/js/operator.js",
  "/docs/js/scalar.js",
];

describe.each(documents)("%s", (path) => {
  it("may be kept by anybody, has a tag, and is 304 to whoever has it", async () => {
    const { status, headers, body } = await call(path);
    expect([status, headers["x-content-type-options"], headers["cache-control"], headers["vary"]]).toEqual([
      200,
      "nosniff",
      "public, max-age=300",
      "accept-encoding",
    ]);
    expect(Number(headers["content-length"])).toBe(body.length);
    const etag = String(headers["etag"]);
    for (const method of ["GET", "HEAD"]) {
      const again = await call(path, { "if-none-match": etag }, { method });
      expect([again.status, again.headers["etag"], again.body.length]).toEqual([304, etag, 0]);
      expect(again.headers["cache-control"]).toBe("public, max-age=300");
    }
    const head = await call(path, {}, { method: "HEAD" });
    expect([head.status, head.headers["content-length"], head.body.length]).toEqual([200, String(body.length), 0]);
  });

  it("is the same in every coding, and in none that it is not kept in", async () => {
    const plain = await call(path);
    const ask = async (accepted: string) => {
      const { headers, body } = await call(path, { "accept-encoding": accepted });
      expect(headers["etag"]).toBe(plain.headers["etag"]);
      return { coding: headers["content-encoding"], body };
    };
    const large = plain.body.length >= 1024;
    const gzip = await ask("gzip");
    const br = await ask("gzip, br");
    expect([gzip.coding, br.coding]).toEqual(large ? ["gzip", "br"] : [undefined, undefined]);
    if (large) {
      expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
      expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
    }
    expect((await ask("zstd, deflate")).coding).toBeUndefined();
  });
});

it("the document for validators takes events of new names, and the one for clients tells each type by its name", async () => {
  const eventOf = async (path: string) =>
    (JSON.parse((await call(path)).body.toString()) as { components: { schemas: { Event: object } } }).components
      .schemas.Event;
  expect(await eventOf("/openapi.json")).toHaveProperty("discriminator.propertyName", "event");
  expect(JSON.stringify(await eventOf("/openapi.json?open"))).toContain("OtherEvent");
});

describe("the reference", () => {
  it("tries requests at the origin that it was loaded from, by whatever name the service is reached", async () => {
    const start = (await call("/docs/js/partners.js")).body.toString();
    expect(start).toContain("const servers = [{ url: location.origin }];");
  });

  it("runs files of ours only, stands in no frame and tells nobody where its reader came from", async () => {
    for (const [path, program] of [
      ["/docs/reference", "/docs/js/partners.js"],
      ["/docs/operator", "/docs/js/operator.js"],
    ] as const) {
      const page = (await call(path)).body.toString();
      expect(page).not.toMatch(/<script>|<script [^>]*>[^<]|https?:/);
      const loaded = [...page.matchAll(/<script src="([^"]+)">/g)].map(([, source = ""]) => source);
      expect(loaded).toEqual(["/docs/js/guides.js", "/docs/js/scalar.js", program]);
      for (const source of loaded)
        expect((await call(source)).headers["content-type"]).toBe("text/javascript; charset=utf-8");
    }
    const { headers } = await call("/docs/reference");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'; script-src 'self'; ");
    expect(policy).toContain("connect-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src[^;]*unsafe|\*/);
    expect(headers).toMatchObject({ "referrer-policy": "no-referrer", "x-frame-options": "DENY" });
    expect((await call("/docs/js/partners.js")).body.toString()).not.toContain("operator");
  });

  it("has one path: the other leads there, whatever host the caller writes", async () => {
    const { status, headers } = await sendRaw(app.url, "GET /docs/ HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect([status, headers.get("Location")]).toEqual([308, "/docs"]);
  });

  it("can be turned off; the documents stay, because programs read them", async () => {
    const other = await buildAnother(app, { docs: false });
    const pages = ["/docs", "/docs/", "/docs/errors", "/docs/search", "/docs/reference", "/docs/operator"];
    for (const path of [...pages, "/docs/js/scalar.js", "/docs/js/partners.js"]) {
      expect((await call(path, {}, { url: other.url })).status).toBe(404);
    }
    for (const path of ["/openapi.json", "/openapi/operator.json", "/openapi/gbfs.json"]) {
      expect((await call(path, {}, { url: other.url })).status).toBe(200);
    }
    await other.close();
  });
});

it("whoever speaks TLS to us is told to go on so, with every answer; nobody else is", async () => {
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  });
  const secure = await buildAnother(app, { https: { cert, key } });
  const policyOf = async (path: string, method = "GET") => {
    const sent = requestOverTls(secure.url + path, { ca: cert, agent: false, method }).end();
    const [{ statusCode, headers }] = (await once(sent, "response")) as [IncomingMessage];
    sent.destroy();
    return [statusCode, headers["strict-transport-security"]];
  };
  for (const [path, status] of Object.entries({ "/docs": 200, "/openapi.json": 200, "/v1/me": 401, "/none": 404 }))
    expect(await policyOf(path)).toEqual([status, "max-age=31536000"]);
  // The process seems to have stood still for a minute.
  const now = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 60_000);
  const refused = await policyOf("/v1/reservations", "POST");
  now.mockRestore();
  expect(refused).toEqual([503, "max-age=31536000"]);
  expect((await call("/docs")).headers["strict-transport-security"]).toBeUndefined();
  await secure.close();
});

describe("requests without a key", () => {
  let limited: BuiltApp;

  beforeAll(async () => {
    limited = await buildAnother(app, { publicRateLimit: 3, trustedProxies: new NetworkList(["127.0.0.1"]) });
  });

  afterAll(() => limited.close());

  const from = (address: string) => ({ "x-forwarded-proto": "https", "x-forwarded-for": address });
  const ask = (path: string, address: string, more: Record<string, string> = {}) =>
    call(path, { ...from(address), ...more }, { url: limited.url });

  it("are counted by address, whatever they ask for; beyond the limit they are 429 with Retry-After", async () => {
    for (const path of ["/openapi/gbfs.json", "/gbfs/3.0/gbfs.json", "/none"]) {
      expect((await ask(path, "192.0.2.1")).status).not.toBe(429);
    }
    for (const path of ["/docs", "/gbfs/none/3.0/gbfs.json", "/openapi/gbfs.json", "/docs/js/scalar.js"]) {
      const { status, headers, body } = await ask(path, "192.0.2.1:5000");
      expect([status, headers["retry-after"]]).toEqual([429, "60"]);
      expect(JSON.parse(body.toString())).toMatchObject({ error: "rate_limited" });
      if (path.startsWith("/gbfs")) expect(headers["access-control-allow-origin"]).toBe("*");
    }
    expect((await ask("/openapi/gbfs.json", "192.0.2.2")).status).toBe(200);
    app.clock.advance(60_000);
    expect((await ask("/openapi/gbfs.json", "192.0.2.1")).status).toBe(200);
  });

  it("of a /64 are counted together", async () => {
    const statuses = [];
    for (const n of [1, 2, 3, 4]) statuses.push((await ask("/openapi/gbfs.json", `[2001:db8::${n}]:99`)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });

  it("count as several where their answers are large, and as one where nothing is sent", async () => {
    const generous = await buildAnother(app, { publicRateLimit: 30, trustedProxies: new NetworkList(["127.0.0.1"]) });
    const status = async (method: string, headers: Record<string, string> = {}) =>
      (await call("/docs/js/scalar.js", { ...from("192.0.2.9"), ...headers }, { url: generous.url, method })).status;
    const { headers } = await call("/docs/js/scalar.js");
    const etag = { "if-none-match": String(headers["etag"]) };
    for (let n = 0; n < 5; n++) expect([await status("HEAD"), await status("GET", etag)]).toEqual([200, 304]);
    // A document of more than 4 MiB counts as 17 requests.
    expect([await status("GET"), await status("GET"), await status("GET", etag)]).toEqual([200, 200, 429]);
    await generous.close();
  });

  it("never keep a probe or a key out", async () => {
    const { key } = await app.issue();
    for (let n = 0; n < 5; n++) await ask("/openapi.json", "192.0.2.3");
    for (const path of ["/healthz", "/readyz"]) expect((await ask(path, "192.0.2.3")).status).toBe(200);
    expect((await ask("/v1/me", "192.0.2.3", { authorization: `Bearer ${key}` })).status).toBe(200);
  });
});

describe("pages of other origins", () => {
  const origin = "https://app.example.com";
  let open: BuiltApp;
  let key: string;

  beforeAll(async () => {
    open = await buildAnother(app, { corsOrigins: [origin, "http://localhost:5173"] });
    key = (await app.issue()).key;
  });

  afterAll(() => open.close());

  const ask = (path: string, headers: Record<string, string>, method = "GET", url = open.url) =>
    call(path, { authorization: `Bearer ${key}`, ...headers }, { method, url });
  const preflight = (path: string, from: string, url = open.url) =>
    call(
      path,
      { origin: from, "access-control-request-method": "GET", "access-control-request-headers": "authorization" },
      { method: "OPTIONS", url },
    );

  it("that are named may read, and see what an answer says of itself", async () => {
    for (const path of ["/v1/stations", "/v1/none", "/openapi.json"]) {
      for (const method of ["GET", "HEAD"]) {
        const { headers } = await ask(path, { origin }, method);
        expect(headers["access-control-allow-origin"]).toBe(origin);
        expect(String(headers["vary"]).split(", ")).toContain("origin");
        for (const name of ["ETag", "RateLimit", "RateLimit-Policy", "Request-Id", "Retry-After", "Link"]) {
          expect(String(headers["access-control-expose-headers"]).split(", ")).toContain(name);
        }
      }
    }
    const refused = await call("/v1/me", { origin }, { url: open.url });
    expect([refused.status, refused.headers["access-control-allow-origin"]]).toEqual([401, origin]);
    const { headers } = await ask("/v1/stations", { origin, "accept-encoding": "gzip" });
    expect(String(headers["vary"]).split(", ").toSorted()).toEqual(["accept-encoding", "authorization", "origin"]);
  });

  it("that are named are told beforehand that they may, without a key", async () => {
    for (const path of ["/v1/stations", "/v1/rides/x?limit=1", "/openapi.json"]) {
      const { status, headers, body } = await preflight(path, origin);
      expect([status, body.length]).toEqual([204, 0]);
      expect(headers).toMatchObject({
        "access-control-allow-origin": origin,
        "access-control-allow-methods": "GET, HEAD",
        "access-control-allow-headers": "Authorization, If-Modified-Since, If-None-Match",
        vary: "origin",
      });
      expect(headers["request-id"]).toMatch(/^req_/);
    }
  });

  it.each(["https://evil.example", "https://app.example.com.evil.example", "null", "http://app.example.com"])(
    "that are not named may not: %s",
    async (from) => {
      const { status, headers } = await ask("/v1/stations", { origin: from });
      expect([status, headers["access-control-allow-origin"]]).toEqual([200, undefined]);
      expect(String(headers["vary"])).toContain("origin");
      expect((await preflight("/v1/stations", from)).status).toBe(401);
    },
  );

  it("may change nothing, and reach neither the operator's interface nor its document", async () => {
    const post = await ask("/v1/reservations", { origin }, "POST");
    expect(post.headers["access-control-allow-origin"]).toBeUndefined();
    for (const path of ["/operator/v1/stations", "/openapi/operator.json", "/docs", "/v1x"]) {
      expect((await preflight(path, origin)).headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  it("may read nothing where none is named, but the public feeds", async () => {
    const { headers } = await ask("/v1/stations", { origin }, "GET", app.url);
    expect([headers["access-control-allow-origin"], headers["vary"]]).toEqual([
      undefined,
      "authorization, accept-encoding",
    ]);
    expect((await preflight("/v1/stations", origin, app.url)).status).toBe(401);
    const feed = await ask("/gbfs/3.0/gbfs.json", { origin }, "GET", app.url);
    expect(feed.headers["access-control-allow-origin"]).toBe("*");
    expect((await preflight("/gbfs/3.0/gbfs.json", origin, app.url)).status).toBe(204);
  });
});

describe("/.well-known/security.txt", () => {
  it("says whom to tell of a weakness and until when that holds, where the operator has said so", async () => {
    expect((await call("/.well-known/security.txt")).status).toBe(404);
    const contact = "mailto:security@bikes.example";
    const other = await buildAnother(app, { securityContact: contact });
    const { status, headers, body } = await call("/.well-known/security.txt", {}, { url: other.url });
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
    const fields = Object.fromEntries(
      body
        .toString()
        .trim()
        .split("\n")
        .map((line) => line.split(": ")),
    ) as Readonly<Record<string, string>>;
    expect(fields["Contact"]).toBe(contact);
    expect(fields["Canonical"]).toMatch(/\/[.]well-known\/security[.]txt$/);
    const remainingMs = Date.parse(fields["Expires"] ?? "") - app.clock();
    expect(remainingMs).toBeGreaterThan(170 * 24 * 60 * 60 * 1_000);
    expect(remainingMs).toBeLessThan(365 * 24 * 60 * 60 * 1_000);
    await other.close();
  });
});
