import { afterEach, beforeEach, expect, test } from "vitest";
import { startDatabaseProxy } from "../../../test/servers/database-proxy.ts";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate } from "../../../test/webhooks/far.ts";

let harness: DispatchHarness;
beforeEach(async () => {
  harness = await openDispatchHarness();
});
afterEach(() => harness.close());

test("while the database is away nothing is lost, and only answers that came meanwhile wait to be written", async () => {
  const { url } = await harness.endpoint();
  const proxy = await startDatabaseProxy(harness.db.connectionString);
  const gate = createGate();
  harness.far.respond = gate.wait;
  const worker = harness.worker({ connectionString: proxy.connectionString });
  await harness.happen(40);
  await until(() => gate.waiting.length === 10);
  await proxy.cut();
  harness.far.respond = () => answered(204);
  gate.open();
  await until(() => worker.inFlight() === 0);
  await harness.happen(40);
  await until(() => worker.errors.length > 3);
  expect(await harness.attempts()).toEqual([]);
  await proxy.mend();
  await harness.drained();
  expect(harness.far.received(url)).toHaveLength(80);
  expect(new Set(harness.far.received(url)).size).toBe(80);
  const log = await harness.attempts();
  expect(log).toHaveLength(80);
  expect(log.every(({ outcome }) => outcome === "succeeded")).toBe(true);
  expect([worker.stale(), worker.orphans()]).toEqual([0, 0]);
  await worker.close();
  await proxy.close();
});

test("a database that goes away again and again under load loses nothing and has nothing sent twice", async () => {
  const { url } = await harness.endpoint();
  const proxy = await startDatabaseProxy(harness.db.connectionString);
  const worker = harness.worker({ connectionString: proxy.connectionString });
  for (let round = 0; round < 5; round++) {
    const before = harness.far.requests.length;
    await harness.happen(60);
    // A connection that is cut while it is opened is given up after 5 s. One that does not respond is given up after 12 s.
    await until(() => harness.far.requests.length > before + 20);
    await proxy.cut();
    await proxy.mend();
  }
  await harness.drained();
  expect(new Set(harness.far.received(url)).size).toBe(300);
  expect(harness.far.received(url)).toHaveLength(300);
  expect((await harness.attempts()).map(({ outcome }) => outcome)).toEqual(
    Array.from({ length: 300 }, () => "succeeded"),
  );
  await worker.close();
  await proxy.close();
});
