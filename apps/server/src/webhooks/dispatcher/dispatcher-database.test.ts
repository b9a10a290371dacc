import { afterEach, beforeEach, expect, test } from "vitest";
import { startDatabaseProxy } from "../../../test/servers/database-proxy.ts";
import { until } from "../../../test/until.ts";
import { type DispatchRoom, openDispatchRoom } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate } from "../../../test/webhooks/far.ts";

let room: DispatchRoom;
beforeEach(async () => {
  room = await openDispatchRoom();
});
afterEach(() => room.close());

test("while the database is away nothing is lost, and only answers that came meanwhile wait to be written", async () => {
  const { url } = await room.endpoint();
  const proxy = await startDatabaseProxy(room.db.connectionString);
  const gate = createGate();
  room.far.respond = gate.wait;
  const worker = room.worker({ connectionString: proxy.connectionString });
  await room.happen(40);
  await until(() => gate.waiting.length === 10);
  await proxy.cut();
  room.far.respond = () => answered(204);
  gate.open();
  await until(() => worker.inFlight() === 0);
  await room.happen(40);
  await until(() => worker.errors.length > 3);
  expect(await room.attempts()).toEqual([]);
  await proxy.mend();
  await room.drained();
  expect(room.far.received(url)).toHaveLength(80);
  expect(new Set(room.far.received(url)).size).toBe(80);
  const log = await room.attempts();
  expect(log).toHaveLength(80);
  expect(log.every(({ outcome }) => outcome === "succeeded")).toBe(true);
  expect([worker.stale(), worker.orphans()]).toEqual([0, 0]);
  await worker.close();
  await proxy.close();
});

test("a database that goes away again and again under load loses nothing and has nothing sent twice", async () => {
  const { url } = await room.endpoint();
  const proxy = await startDatabaseProxy(room.db.connectionString);
  const worker = room.worker({ connectionString: proxy.connectionString });
  for (let round = 0; round < 5; round++) {
    const before = room.far.requests.length;
    await room.happen(60);
    // A connection that was cut while it was being made is given up after 5 s, one that says nothing after 12 s.
    await until(() => room.far.requests.length > before + 20);
    await proxy.cut();
    await proxy.mend();
  }
  await room.drained();
  expect(new Set(room.far.received(url)).size).toBe(300);
  expect(room.far.received(url)).toHaveLength(300);
  expect((await room.attempts()).map(({ outcome }) => outcome)).toEqual(Array.from({ length: 300 }, () => "succeeded"));
  await worker.close();
  await proxy.close();
});
