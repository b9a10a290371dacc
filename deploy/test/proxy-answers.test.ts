import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { request, type RequestOptions } from "node:https";
import { text } from "node:stream/consumers";
import { findFreePort } from "@bikeshare/test-kit";
import { expect, it, onTestFinished, vi } from "vitest";
import { isInstalled, type Proxy, startHaproxy, startNginx } from "./proxies.ts";

const PROXIES = [
  ["nginx", startNginx, { repeatsPosts: false }],
  ["haproxy", startHaproxy, { repeatsPosts: true }],
] as const;

interface Answer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly type: string | undefined;
  readonly body: unknown;
}

async function send({ httpsPort: port }: Proxy, options: RequestOptions): Promise<Answer> {
  const call = request({ host: "127.0.0.1", rejectUnauthorized: false, agent: false, port, ...options });
  call.end();
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  const { "retry-after": retryAfter, "content-type": type } = answer.headers;
  return { status: answer.statusCode, retryAfter, type, body: JSON.parse(await text(answer)) };
}

/** Simulates processes that end during the first request for each path, and answer the next one. @returns their address */
async function startFailing(received: string[]): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "";
    const isFirst = !received.includes(path);
    if (path !== "/readyz") received.push(path);
    if (isFirst && path !== "/readyz") incoming.socket.destroy();
    else outgoing.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

for (const [name, start, { repeatsPosts }] of PROXIES) {
  const isHere = isInstalled(name);
  const note = isHere ? "" : ` (skipped: ${name} is not installed)`;
  const open = async (serviceUrl: string) => {
    const proxy = await start(serviceUrl);
    onTestFinished(() => proxy.close());
    const listens = () =>
      send(proxy, { path: "/readyz" }).then(
        () => true,
        () => false,
      );
    await vi.waitUntil(listens, { timeout: 120_000, interval: 50 });
    return proxy;
  };
  const unavailable = {
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/) as string,
    type: "application/json",
    body: { error: "unavailable", message: expect.stringMatching(/[.]$/) as string },
  };

  it.skipIf(!isHere)(`${name} answers as the service does where no process is there${note}`, async () => {
    const proxy = await open(`http://127.0.0.1:${await findFreePort()}`);
    for (const method of ["GET", "POST"]) {
      expect(await send(proxy, { method, path: "/v1/stations" })).toEqual(unavailable);
    }
  });

  it.skipIf(!isHere)(
    `${name} repeats what a process ended with where that is safe, and nothing else${note}`,
    async () => {
      const received: string[] = [];
      const proxy = await open(await startFailing(received));
      expect(await send(proxy, { path: "/v1/read" })).toMatchObject({ status: 200 });
      expect(await send(proxy, { method: "DELETE", path: "/v1/cancelled" })).toMatchObject({ status: 200 });
      expect(received).toEqual(["/v1/read", "/v1/read", "/v1/cancelled", "/v1/cancelled"]);
      const headers = { "idempotency-key": "one" };
      const named = await send(proxy, { method: "POST", path: "/v1/named", headers });
      if (repeatsPosts) expect(named).toMatchObject({ status: 200 });
      else expect(named).toEqual(unavailable);
      expect(await send(proxy, { method: "POST", path: "/v1/unnamed" })).toEqual(unavailable);
      // Perhaps 0, because nginx may have stopped using the process.
      expect(received.filter((path) => path === "/v1/unnamed").length).toBeLessThanOrEqual(1);
    },
  );
}
