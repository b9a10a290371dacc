import { once } from "node:events";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as tlsRequest, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { isBuilt, type PackedServer, startPackedServer } from "./packed-server.ts";
import { isInstalled, type Proxy, PROXY_ADDRESS, startHaproxy, startNginx } from "./proxies.ts";

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** Sends a request over HTTP or HTTPS. */
async function send(request: typeof plainRequest | typeof tlsRequest, options: RequestOptions): Promise<Answer> {
  const call = request({ host: "127.0.0.1", rejectUnauthorized: false, agent: false, ...options });
  call.end();
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(await text(answer)) };
}

const PROXIES = [
  ["nginx", startNginx],
  ["haproxy", startHaproxy],
] as const;

describe.skipIf(!isBuilt)(`the published server${isBuilt ? "" : " (skipped: not built)"}`, () => {
  let server: PackedServer;
  beforeAll(async () => {
    server = await startPackedServer({ TRUSTED_PROXIES: PROXY_ADDRESS });
  });
  afterAll(() => server.close());

  it("starts from its tarball alone: it has its schema, its PostgreSQL, its pages and a city that rides", async () => {
    const get = (path: string) =>
      fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${server.key}` } }).then((answer) =>
        answer.json(),
      );
    // Polls, because while a busy machine creates the city's history, a request may get a 503.
    await expect
      .poll(() => get("/v1/stations?limit=1"), { interval: 2_000 })
      .toMatchObject({ data: [{ id: "station-001" }] });
    const page = await (await fetch(`${server.url}/dashboard`)).text();
    const [, script = ""] = /src="(\/dashboard\/[^"]+[.]js)"/.exec(page) ?? [];
    expect((await fetch(`${server.url}${script}`)).headers.get("content-type")).toMatch(/^text\/javascript/);
    // Polls slowly: the key allows 60 requests a minute, and the next tests need some of them.
    await expect
      .poll(() => get("/v1/events?limit=1"), { interval: 2_000 })
      .toMatchObject({ data: [expect.anything()] });
    expect(await get("/openapi.json")).toMatchObject({ openapi: "3.1.0" });
    for (const path of ["/docs", "/docs/sdk", "/docs/css/header.css", "/docs/webhook-vectors.json"])
      expect([path, (await fetch(`${server.url}${path}`)).status]).toEqual([path, 200]);
    expect(server.welcome).toContain("npx @bikeshare/server keys issue --operator");
    expect(server.welcome).not.toContain("pnpm");
  });

  it("refuses what a proxy forwards without saying that it came over https", async () => {
    const { hostname, port } = new URL(server.url);
    const options = { host: hostname, port, path: "/v1/me", localAddress: PROXY_ADDRESS };
    expect(await send(plainRequest, options)).toMatchObject({ status: 403, body: { error: "https_required" } });
  });

  describe.each(PROXIES)("behind %s", (name, start) => {
    const isHere = isInstalled(name);
    const note = isHere ? "" : ` (skipped: ${name} is not installed)`;
    let proxy: Proxy;
    beforeAll(async () => {
      if (!isHere) return;
      proxy = await start(server.url);
      const isReady = () =>
        over("/readyz").then(
          ({ status }) => status === 200,
          () => false,
        );
      await vi.waitUntil(isReady, { timeout: 120_000, interval: 50 });
    });
    afterAll(() => proxy?.close());
    const over = (path: string, options: RequestOptions = {}) =>
      send(tlsRequest, { port: proxy.httpsPort, path, ...options });

    it.skipIf(!isHere)(`is reached over TLS alone, by callers who cannot say they are others${note}`, async () => {
      const headers = { authorization: `Bearer ${server.key}`, "x-forwarded-for": "203.0.113.9" };
      expect(await over("/v1/me", { headers })).toMatchObject({ status: 200, body: { partner: {} } });
      const plain = { port: proxy.httpPort, path: "/v1/me", headers };
      expect(await send(plainRequest, plain)).toMatchObject({ status: 403, body: { error: "https_required" } });
      expect((await over("/operator/v1/bikes", { method: "POST" })).status).toBe(401);
    });

    it.skipIf(!isHere)(`gets no body of more than 1 MiB, and no flood from one address${note}`, async () => {
      // Sends only the length and no body: if the proxy closes the connection while a body is being sent, the response may
      // be lost.
      const large = { method: "POST", headers: { "content-length": 1_100_000 } };
      const refused = await over("/v1/reservations", large);
      expect(refused).toMatchObject({ status: 413, body: { error: "payload_too_large" } });
      const answers = await Promise.all(Array.from({ length: 130 }, () => over("/healthz").catch(() => undefined)));
      expect(answers.some((answer) => answer?.status === 200)).toBe(true);
      for (const answer of answers) {
        if (answer?.status !== 200) expect(answer).toMatchObject({ status: 429, body: { error: "rate_limited" } });
      }
    });
  });
});
