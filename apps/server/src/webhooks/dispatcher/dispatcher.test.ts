import { createServer, type IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, loopback, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate } from "../../../test/webhooks/far.ts";
import { createSystem } from "../../city/systems/service.ts";
import { recordEvents } from "../../events/outbox.ts";
import { openListener } from "../../storage/db/listener.ts";
import { statement } from "../../storage/db/statement.ts";
import { setEndpoint } from "../endpoints/endpoint-settings.ts";
import { createSender } from "../sender/sender.ts";

let harness: DispatchHarness;
beforeEach(async () => {
  harness = await openDispatchHarness();
});
afterEach(() => harness.close());

interface Arrived {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** Starts a receiver on loopback that keeps each request unchanged. */
async function listen(onRequest: (arrived: Arrived) => void) {
  const read = async (request: IncomingMessage) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    onRequest({ path: request.url ?? "", headers: request.rawHeaders, body: Buffer.concat(chunks).toString() });
  };
  const server = createServer((request, response) => {
    read(request)
      .then(() => response.writeHead(204).end())
      .catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

test("every delivery is sent once, and logged with the headers and bytes that arrived", async () => {
  const arrived: Arrived[] = [];
  const receiver = await listen((request) => arrived.push(request));
  const paths = ["/a", "/b", "/c"];
  try {
    for (const path of paths) await harness.endpoint({ url: `${receiver.url}${path}` });
    await harness.happen(100);
    harness.worker({ sender: createSender({ rules: loopback }) });
    await harness.happen(100);
    await harness.drained();
  } finally {
    await receiver.close();
  }
  const logged = await harness.attempts();
  expect(logged).toHaveLength(600);
  expect(new Set(logged.map(({ delivery_id: id }) => id)).size).toBe(600);
  expect(logged.every(({ number, outcome, status }) => number === 1 && outcome === "succeeded" && status === 204)).toBe(
    true,
  );
  const asLogged = logged.map(({ request_headers: headers, request_body: body }) => ({
    headers: (JSON.parse(headers ?? "[]") as string[][]).flat(),
    body: body ?? "",
  }));
  // A service of another test may still send to this port, which one of its receivers had before.
  const ours = arrived.filter(({ path }) => paths.includes(path));
  const asArrived = ours.map(({ headers, body }) => ({ headers, body }));
  const byBody = (a: { body: string }, b: { body: string }) => (a.body < b.body ? -1 : 1);
  expect(asLogged.toSorted(byBody)).toEqual(asArrived.toSorted(byBody));
  expect((await harness.deliveries()).every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(
    true,
  );
});

test("one endpoint never has more than 10 attempts in flight, whoever of two workers sends to it", async () => {
  const endpoints = await Promise.all(Array.from({ length: 4 }, () => harness.endpoint()));
  harness.far.respond = async () => {
    for (let ticks = 0; ticks < 20; ticks++) await setImmediate();
    return answered(204);
  };
  await harness.happen(150);
  harness.worker();
  harness.worker();
  await harness.happen(150);
  await harness.drained();
  for (const { url } of endpoints) {
    expect(harness.far.most(url)).toBe(10);
    expect(new Set(harness.far.received(url)).size).toBe(300);
    expect(harness.far.received(url)).toHaveLength(300);
  }
});

test("an endpoint that is new is sent to without a restart", async () => {
  const worker = harness.worker();
  const listener = openListener({
    connectionString: harness.db.connectionString,
    notifier: harness.db,
    on: {
      event_outbox: (systemId) => worker.wake(systemId),
      webhook_endpoints: (systemId) => worker.reload(systemId),
    },
    onGap: () => undefined,
  });
  try {
    await until(() => listener.listening());
    const { url } = await harness.endpoint();
    await harness.happen(3);
    await until(() => harness.far.received(url).length === 3);
  } finally {
    await listener.close();
  }
});

test("two systems do not touch each other: the one hangs, the other goes on, and nothing crosses over", async () => {
  await createSystem(harness.db, "second", "Second city", 0);
  const here = await harness.endpoint();
  const there = await harness.endpoint({ systemId: "second" });
  const hanging = createGate();
  harness.far.respond = (request) => (request.url === here.url ? hanging.wait(request) : answered(204));
  const worker = harness.worker();
  await harness.happen(20);
  await harness.happen(20, { systemId: "second" });
  await until(() => harness.far.received(there.url).length === 20);
  await until(() => harness.far.received(here.url).length === 10);
  // All deliveries of the second system are answered, but the worker may not have handled their results yet.
  await until(() => worker.inFlight() === 10);
  const numbers = (url: string) => harness.far.requests.filter((request) => request.url === url).map(({ n }) => n);
  expect(Math.max(...numbers(here.url))).toBeLessThan(20);
  expect(Math.min(...numbers(there.url))).toBe(20);
  harness.far.respond = () => answered(204);
  hanging.open();
  await harness.drained();
});

test("an event that is committed long after it became due is sent all the same", async () => {
  const { url } = await harness.endpoint();
  harness.worker();
  await harness.happen(5);
  await harness.drained();
  const now = new Date(harness.clock());
  const event = { name: "ride.started" as const, occurredAt: now, partnerId: null, data: '{"n":1000}' };
  await harness.db.transaction(async (tx) => {
    recordEvents(tx, { ids: harness.ids, systemId: harness.systemId, now }, [event]);
    // The queue cursor moves past the uncommitted event, by more time than a claim looks back.
    for (let round = 0; round < 3; round++) {
      harness.clock.advance(20_000);
      await harness.happen(1);
      await until(() => harness.far.received(url).length === 6 + round);
    }
  });
  await until(() => harness.far.requests.at(-1)?.n === 1000);
  await harness.drained();
  expect(harness.far.received(url)).toHaveLength(9);
});

test("however many workers send, an endpoint with a limit is sent the first of an hour, and another one all", async () => {
  const limited = await harness.endpoint();
  await harness.endpoint();
  const scope = { systemId: harness.systemId, partnerId: limited.partnerId };
  await setEndpoint({ ...harness, rules: loopback }, { ...scope, max_per_hour: 30 });
  // Keeps a new hour from beginning during the test.
  const hour = "update webhook_lanes set hour_ends_at = now() + interval '1 hour' where system_id = $1";
  await harness.db.query(statement("", hour), [harness.systemId]);
  await harness.happen(25);
  for (let n = 0; n < 3; n++) harness.worker();
  await harness.happen(75);
  await harness.drained();
  const all = await harness.deliveries();
  const mine = all
    .filter(({ id }) => id.endsWith(limited.id.slice(-6)))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  expect(mine).toHaveLength(100);
  expect(mine.map(({ status }) => status)).toEqual(mine.map((_, n) => (n < 30 ? "succeeded" : "failed")));
  expect(all.filter(({ status }) => status === "succeeded")).toHaveLength(130);
});
