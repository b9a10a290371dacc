import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createClient } from "../../src/api/client.ts";
import { createConnection } from "../../src/api/connection.ts";
import { ConnectionError } from "../../src/api/errors.ts";

const json = (status: number, body: object) => Response.json(body, { status });
const tooSlow = { error: "unavailable", message: "The list took longer than 5 s." };

/** The response of the service to a probe, and how often it was probed. */
let ready: Response;
let probes: string[];

beforeEach(() => {
  vi.useFakeTimers();
  probes = [];
  vi.stubGlobal("fetch", (path: string) => {
    probes.push(path);
    return Promise.resolve(ready.clone());
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Returns a client and the state of its connection. `answer` is the response to each request. */
function connected(answer: () => Promise<Response>) {
  let recoveries = 0;
  const connection = createConnection(() => recoveries++);
  const client = createClient({
    csrfToken: () => undefined,
    onSignedOut() {},
    onReached: (isReached) => connection.report(isReached),
    onUnavailable: () => connection.check(),
    fetch: answer,
  });
  return { connection, client, recoveries: () => recoveries };
}

it("a list that takes too long is an error of the list: the connection is not lost, and nothing is read again", async () => {
  ready = json(200, {});
  const { connection, client, recoveries } = connected(() => Promise.resolve(json(503, tooSlow)));
  await expect(client.session.get()).rejects.toMatchObject({ code: "unavailable", message: tooSlow.message });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connection.isLost()).toBe(false);
  expect(recoveries()).toBe(0);
  expect(probes).toEqual(["/readyz"]);
});

it("the connection is lost while the service is not ready, and back as soon as it is", async () => {
  ready = json(503, {});
  const { connection, client, recoveries } = connected(() => Promise.resolve(json(503, tooSlow)));
  await expect(client.session.get()).rejects.toThrow(tooSlow.message);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(connection.isLost()).toBe(true);
  ready = json(200, {});
  await vi.advanceTimersByTimeAsync(2_000);
  expect(connection.isLost()).toBe(false);
  expect(recoveries()).toBe(1);
});

it("a slow probe that fails does not outweigh a request that has arrived meanwhile", async () => {
  const probe = Promise.withResolvers<Response>();
  vi.stubGlobal("fetch", () => probe.promise);
  const { connection, recoveries } = connected(() => Promise.reject(new Error("no request")));
  connection.check();
  connection.report(true);
  probe.reject(new Error("timed out"));
  await vi.advanceTimersByTimeAsync(0);
  expect([connection.isLost(), recoveries()]).toEqual([false, 0]);
});

it("a response that is cut off is a failure of the connection, after which a read is tried again", async () => {
  const { client } = connected(() => Promise.resolve(new Response('{"person":', { status: 200 })));
  await expect(client.session.get()).rejects.toThrow(ConnectionError);
});

it("the 50 responses that were read last are asked for by their ETag, and no more are kept", async () => {
  const asked: [string, boolean][] = [];
  const client = createClient({
    csrfToken: () => undefined,
    onSignedOut() {},
    onReached() {},
    onUnavailable() {},
    fetch: (address, init) => {
      const tag = new Headers(init?.headers).get("if-none-match");
      const id = new URL(address as string, "http://localhost").pathname.split("/").at(-1) ?? "";
      asked.push([id, tag !== null]);
      return Promise.resolve(
        tag === null
          ? Response.json({ id }, { headers: { etag: `"${id}"` } })
          : new Response(null, { status: 304, headers: { etag: tag } }),
      );
    },
  });
  const read = async (id: number) => {
    const params = { system_id: "main", kind: "station", id: String(id) } as const;
    expect(await client.descriptions.get({ params })).toEqual({ id: String(id) });
  };
  for (let id = 0; id < 60; id++) await read(id);
  asked.length = 0;
  for (const id of [59, 10, 9, 11]) await read(id);
  expect(asked).toEqual([
    ["59", true],
    ["10", true],
    ["9", false],
    ["11", true],
  ]);
});
