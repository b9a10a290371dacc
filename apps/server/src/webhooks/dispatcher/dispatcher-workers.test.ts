import { afterEach, beforeEach, expect, test } from "vitest";
import { startDatabaseProxy } from "../../../test/servers/database-proxy.ts";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, createGate, type Gate } from "../../../test/webhooks/far.ts";

let harness: DispatchHarness;
let gate: Gate;
beforeEach(async () => {
  harness = await openDispatchHarness();
  gate = createGate();
});
afterEach(async () => {
  harness.far.respond = () => answered(204);
  gate.open();
  await harness.close();
});

/** Returns how many lanes each worker holds, fewest first. */
async function shares(): Promise<number[]> {
  const held = await harness.rows<{ n: number }>(
    "select count(*) as n from webhook_lanes where system_id = $1 and worker is not null group by worker",
  );
  return held.map(({ n }) => n).toSorted((a, b) => a - b);
}

async function sharedAs(...expected: number[]): Promise<void> {
  await until(async () => String(await shares()) === String(expected));
}

test("workers share the endpoints evenly, whoever comes and goes", async () => {
  for (let made = 0; made < 7; made++) await harness.endpoint();
  harness.worker();
  await sharedAs(7);
  const second = harness.worker();
  await sharedAs(3, 4);
  harness.worker();
  await sharedAs(2, 2, 3);
  await second.close();
  await sharedAs(3, 4);
  await harness.happen(20);
  await harness.drained();
  expect(harness.far.requests).toHaveLength(140);
});

test("the endpoints of a worker that dies are taken over; its attempts are logged as unknown and made anew", async () => {
  const { url } = await harness.endpoint();
  const proxy = await startDatabaseProxy(harness.db.connectionString);
  harness.far.respond = gate.wait;
  harness.worker({ connectionString: proxy.connectionString });
  await harness.happen(6);
  await until(() => gate.waiting.length === 6);
  // Other workers treat a worker that cannot reach the database as dead once its leases expire.
  await proxy.cut();
  harness.far.respond = () => answered(204);
  await harness.expireLeases();
  const heir = harness.worker();
  await harness.drained();
  expect(heir.orphans()).toBe(6);
  const log = await harness.attempts();
  expect(log.map(({ number, outcome }) => `${number} ${outcome}`)).toEqual(
    Array.from({ length: 6 }, () => ["1 unknown", "2 succeeded"]).flat(),
  );
  expect(log.filter(({ outcome }) => outcome === "unknown").every(({ next_attempt_reason: why }) => why !== null)).toBe(
    true,
  );
  expect(harness.far.received(url)).toHaveLength(12);
  expect(new Set(harness.far.received(url)).size).toBe(6);
});

test("a worker that comes back after its endpoints were taken over changes nothing any more", async () => {
  const { url } = await harness.endpoint();
  const proxy = await startDatabaseProxy(harness.db.connectionString);
  harness.far.respond = gate.wait;
  const old = harness.worker({ connectionString: proxy.connectionString });
  await harness.happen(10);
  await until(() => gate.waiting.length === 10);
  await proxy.cut();
  await harness.expireLeases();
  harness.far.respond = () => answered(204);
  harness.worker();
  await harness.drained();
  const before = [await harness.attempts(), await harness.deliveries(), await lanesAndEndpoints()];
  // The old worker's responses arrive late. If they still counted, three of them would pause the endpoint.
  gate.open(answered(410), 2);
  await until(() => old.inFlight() === 8);
  harness.clock.advance(60_000);
  gate.open(answered(410), 2);
  gate.open(answered(500));
  await proxy.mend();
  await until(() => old.stale() === 10);
  expect([await harness.attempts(), await harness.deliveries(), await lanesAndEndpoints()]).toEqual(before);
  expect(harness.far.received(url)).toHaveLength(20);
  await proxy.close();
});

async function lanesAndEndpoints() {
  return [
    await harness.rows("select token, failures, gone_answers from webhook_lanes where system_id = $1"),
    await harness.rows("select id, status from webhook_endpoints where system_id = $1"),
  ];
}

test("a worker that stops ends what is in flight and gives the rest to another at once, with nothing sent twice", async () => {
  const { url } = await harness.endpoint();
  harness.far.respond = gate.wait;
  const first = harness.worker();
  await harness.happen(50);
  await until(() => gate.waiting.length === 10);
  // The worker claims more in advance as soon as some attempts have ended.
  gate.open(answered(204), 8);
  await until(() => gate.waiting.length === 10);
  const second = harness.worker();
  let closed = false;
  const closing = first.close().then(() => void (closed = true));
  harness.far.respond = () => answered(204);
  expect(closed).toBe(false);
  gate.open();
  await closing;
  await harness.drained();
  expect(harness.far.received(url)).toHaveLength(50);
  expect(new Set(harness.far.received(url)).size).toBe(50);
  const log = await harness.attempts();
  expect(log.every(({ number, outcome }) => number === 1 && outcome === "succeeded")).toBe(true);
  expect([second.orphans(), first.inFlight()]).toEqual([0, 0]);
});
