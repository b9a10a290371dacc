import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import { type Process, startProcess } from "../../../test/webhooks/process.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import { type Database, openDatabase } from "../../storage/db/database.ts";
import { redeliver } from "../log/resend.ts";
import { MAX_SUSPECTS_TOGETHER } from "../rules/after-attempt.ts";

let harness: DispatchHarness;
let db: Database;
let processes: Process[];
beforeEach(async () => {
  harness = await openDispatchHarness();
  db = openDatabase({ connectionString: harness.db.connectionString, maxConnections: 4 });
  processes = [];
});
afterEach(async () => {
  const closing = processes.map(({ dispatcher }) => dispatcher.close());
  for (const { gate } of processes) gate.open();
  await Promise.all(closing);
  await db.close();
  await harness.close();
});

function begin(): Process {
  const process = startProcess(harness, db, harness.systemId);
  processes.push(process);
  return process;
}

/** Ends a process while attempts are in flight, and lets its leases expire. */
async function die(process: Process): Promise<void> {
  process.db.die();
  await harness.expireLeases();
}

const finished = `select delivery.id, delivery.status, delivery.latest_failure, delivery.attempts
  from webhook_deliveries delivery where delivery.system_id = $1 order by delivery.id`;

test("a delivery that ends each process that sends it is set aside after three; all others arrive, none beside it is blamed", async () => {
  const { url } = await harness.endpoint();
  await harness.endpoint();
  await harness.happen(6);
  const isPoison = (request: { readonly url: string; readonly n: number }) => request.url === url && request.n === 3;

  // Two processes end while everything is in flight, so that the outcome of every attempt is unknown.
  for (let life = 1; life <= 2; life++) {
    const process = begin();
    await until(() => process.gate.waiting.length === 12);
    await die(process);
  }

  // Now each suspect delivery is tried alone, while other deliveries continue.
  const third = begin();
  for (;;) {
    await until(() => third.gate.waiting.length > 0);
    expect(third.gate.waiting).toHaveLength(1);
    if (third.gate.waiting.some(isPoison)) break;
    third.gate.open();
  }
  await harness.happen(2);
  third.dispatcher.wake();
  await until(() => third.gate.waiting.length === 5);
  await die(third);

  const fourth = begin();
  await until(() => {
    fourth.gate.open();
    return harness.drained(undefined, 50).then(
      () => true,
      () => false,
    );
  });
  const rows = await harness.rows<{ id: string; status: string; latest_failure: string | null }>(finished);
  const poison = rows.filter(({ status }) => status !== "succeeded");
  expect(rows).toHaveLength(16);
  expect(poison).toMatchObject([{ status: "failed", latest_failure: "set_aside", attempts: 3 }]);
  const id = poison[0]?.id ?? "";
  expect(fourth.setAside).toEqual([id]);
  const attempts = (await harness.attempts()).filter((attempt) => attempt.delivery_id === id);
  expect(attempts.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown", "unknown"]);

  const found = () => systemCheckFinders["set aside"]({ ...harness, db, longRideAfterMs: 0 }, harness.systemId);
  expect(await found()).toMatchObject([
    {
      status: "failure",
      detail: expect.stringMatching(/^1 webhooks of \w+ are not sent any more/) as string,
      fix: expect.stringMatching(/redeliver <id>`/) as string,
    },
  ]);

  // Once the cause of the crashes is repaired, the delivery is sent like any other.
  const partners = await harness.rows<{ partner_id: string }>(
    "select partner_id from webhook_endpoints where system_id = $1 and url = $2",
    url,
  );
  await redeliver(harness, { systemId: harness.systemId, partnerId: partners[0]?.partner_id ?? "" }, id);
  fourth.dispatcher.wake();
  await until(() => fourth.gate.waiting.length === 1);
  fourth.gate.open(answered(204));
  await harness.drained();
  expect((await harness.rows<{ status: string }>(finished)).every(({ status }) => status === "succeeded")).toBe(true);
  expect(await found()).toMatchObject([{ status: "ok" }]);
});

test("of many that a process had claimed only those of the last hundred are tried alone, and none but the one that ends processes is set aside", async () => {
  const endpoints = await Promise.all(Array.from({ length: 15 }, () => harness.endpoint()));
  const { url } = endpoints[7] ?? { url: "" };
  await harness.happen(10);
  const isPoison = (request: { readonly url: string; readonly n: number }) => request.url === url && request.n === 3;
  const first = begin();
  await until(() => first.gate.waiting.length === 150);
  await die(first);

  // Each answered delivery makes room for another, until the one that ends processes is among those that are sent.
  const second = begin();
  await until(() => {
    expect(second.gate.waiting.length).toBeLessThanOrEqual(MAX_SUSPECTS_TOGETHER);
    if (second.gate.waiting.some(isPoison)) return true;
    second.gate.open(answered(204));
    return false;
  });
  await die(second);
  const third = begin();
  let alone = 0;
  await until(async () => {
    const crashed = await harness.rows<{ crashes: number }>(
      "select crashes from webhook_queue where system_id = $1 and claim is not null and crashes > 0",
    );
    if (crashed.some(({ crashes }) => crashes === 2)) expect(crashed).toHaveLength(1);
    // Reads `waiting` and opens the gate without a pause in between: a request that arrived then would be answered unseen.
    const { waiting } = third.gate;
    if (waiting.some(isPoison)) return true;
    if (waiting.length === 1) alone++;
    third.gate.open(answered(204));
    return false;
  });
  expect(alone).toBeLessThan(MAX_SUSPECTS_TOGETHER + 15);
  await die(third);

  const fourth = begin();
  await until(() => {
    fourth.gate.open(answered(204));
    return harness.drained(undefined, 50).then(
      () => true,
      () => false,
    );
  });
  const rows = await harness.rows<{ status: string; attempts: number }>(finished);
  expect(rows.filter(({ status }) => status === "succeeded")).toHaveLength(149);
  expect(rows.filter(({ status }) => status !== "succeeded")).toMatchObject([{ status: "failed", attempts: 3 }]);
});

test("a delivery whose result cannot be stored keeps no other result from being written, also when its process ends", async () => {
  await harness.endpoint();
  await harness.happen(8);
  // Makes the number of the next attempt larger than the log's column can hold.
  const overflow = (n: number) =>
    harness.rows<{ id: string }>(
      `update webhook_queue set attempts = 32767 where system_id = $1 and delivery_id in (
         select delivery_id from webhook_queue where system_id = $1 and attempts = 0 order by 1 limit $2) returning delivery_id as id`,
      n,
    );
  const [one] = await overflow(1);
  const process = begin();
  await until(() => process.gate.waiting.length === 8);
  process.gate.open(answered(204));
  await harness.drained();
  expect(process.setAside).toEqual([one?.id]);

  await harness.happen(5);
  const [other] = await overflow(1);
  process.dispatcher.wake();
  await until(() => process.gate.waiting.length === 5);
  await die(process);
  const next = begin();
  await until(() => next.gate.waiting.length === 4);
  next.gate.open(answered(204));
  await harness.drained();
  expect(next.setAside).toEqual([other?.id]);
  const rows = await harness.rows<{ id: string; status: string; latest_failure: string | null }>(finished);
  const setAside = rows.filter(({ latest_failure: failure }) => failure === "set_aside").map(({ id }) => id);
  expect(new Set(setAside)).toEqual(new Set([one?.id, other?.id]));
  expect(rows.filter(({ status }) => status === "succeeded")).toHaveLength(11);
});
