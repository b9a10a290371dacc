import { createServer, type IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchRoom, loopback, openDispatchRoom } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate } from "../../../test/webhooks/far.ts";
import { openListener } from "../../db/listener.ts";
import { recordEvents } from "../../events/outbox.ts";
import { createSystem } from "../../systems/service.ts";
import { createSender } from "../sender/sender.ts";

let room: DispatchRoom;
beforeEach(async () => {
  room = await openDispatchRoom();
});
afterEach(() => room.close());

interface Arrived {
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** A receiver on loopback that keeps what comes, as it came. */
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
  try {
    for (const name of ["a", "b", "c"]) await room.endpoint({ url: `${receiver.url}/${name}` });
    await room.happen(100);
    room.worker({ sender: createSender({ rules: loopback }) });
    await room.happen(100);
    await room.drained();
  } finally {
    await receiver.close();
  }
  const logged = await room.attempts();
  expect(logged).toHaveLength(600);
  expect(new Set(logged.map(({ delivery_id: id }) => id)).size).toBe(600);
  expect(logged.every(({ number, outcome, status }) => number === 1 && outcome === "succeeded" && status === 204)).toBe(
    true,
  );
  const asLogged = logged.map(({ request_headers: headers, request_body: body }) => ({
    headers: (JSON.parse(headers ?? "[]") as string[][]).flat(),
    body: body ?? "",
  }));
  const asArrived = arrived.map(({ headers, body }) => ({ headers, body }));
  const byBody = (a: { body: string }, b: { body: string }) => (a.body < b.body ? -1 : 1);
  expect(asLogged.toSorted(byBody)).toEqual(asArrived.toSorted(byBody));
  expect((await room.deliveries()).every(({ status, attempts }) => status === "succeeded" && attempts === 1)).toBe(
    true,
  );
});

test("one endpoint never has more than 10 attempts in flight, whoever of two workers sends to it", async () => {
  const endpoints = await Promise.all(Array.from({ length: 4 }, () => room.endpoint()));
  room.far.respond = async () => {
    for (let ticks = 0; ticks < 20; ticks++) await setImmediate();
    return answered(204);
  };
  await room.happen(150);
  room.worker();
  room.worker();
  await room.happen(150);
  await room.drained();
  for (const { url } of endpoints) {
    expect(room.far.most(url)).toBe(10);
    expect(new Set(room.far.received(url)).size).toBe(300);
    expect(room.far.received(url)).toHaveLength(300);
  }
});

test("an endpoint that is new is sent to without a restart", async () => {
  const worker = room.worker();
  const listener = openListener({
    connectionString: room.db.connectionString,
    notifier: room.db,
    on: {
      event_outbox: (systemId) => worker.wake(systemId),
      webhook_endpoints: (systemId) => worker.reload(systemId),
    },
    onGap: () => undefined,
  });
  try {
    await until(() => listener.listening());
    const { url } = await room.endpoint();
    await room.happen(3);
    await until(() => room.far.received(url).length === 3);
  } finally {
    await listener.close();
  }
});

test("two systems do not touch each other: the one hangs, the other goes on, and nothing crosses over", async () => {
  await createSystem(room.db, "second", "Second city", 0);
  const here = await room.endpoint();
  const there = await room.endpoint({ systemId: "second" });
  const hanging = createGate();
  room.far.respond = (request) => (request.url === here.url ? hanging.wait(request) : answered(204));
  const worker = room.worker();
  await room.happen(20);
  await room.happen(20, { systemId: "second" });
  await until(() => room.far.received(there.url).length === 20);
  await until(() => room.far.received(here.url).length === 10);
  expect(worker.inFlight()).toBe(10);
  const numbers = (url: string) => room.far.requests.filter((request) => request.url === url).map(({ n }) => n);
  expect(Math.max(...numbers(here.url))).toBeLessThan(20);
  expect(Math.min(...numbers(there.url))).toBe(20);
  room.far.respond = () => answered(204);
  hanging.open();
  await room.drained();
});

test("an event that is committed long after it became due is sent all the same", async () => {
  const { url } = await room.endpoint();
  room.worker();
  await room.happen(5);
  await room.drained();
  const now = new Date(room.clock());
  const event = { name: "ride.started" as const, occurredAt: now, partnerId: null, data: '{"n":1000}' };
  await room.db.transaction(async (tx) => {
    await recordEvents(tx, { ids: room.ids, systemId: room.systemId, now }, [event]);
    // The line moves on past it, by more than any claim looks back.
    for (let round = 0; round < 3; round++) {
      room.clock.advance(20_000);
      await room.happen(1);
      await until(() => room.far.received(url).length === 6 + round);
    }
  });
  await until(() => room.far.requests.at(-1)?.n === 1000);
  await room.drained();
  expect(room.far.received(url)).toHaveLength(9);
});
