import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { type DispatchHarness, openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import { type Process, startProcess } from "../../../test/webhooks/process.ts";
import { createConcerns } from "../../conditions/concerns.ts";
import { createConditions } from "../../conditions/conditions.ts";
import { type Database, openDatabase } from "../../db/database.ts";
import { redeliver } from "../log/resend.ts";
import { watchSetAside } from "../set-aside-watch.ts";

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

/** Its process ends with all that is in flight, and its leases run out. */
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

  // Twice everything is in flight, and nobody knows what it was.
  for (let life = 1; life <= 2; life++) {
    const process = begin();
    await until(() => process.gate.waiting.length === 12);
    await die(process);
  }

  // Now each is tried alone, and what happens meanwhile goes on beside it.
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

  const concerns = createConcerns();
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const watch = watchSetAside(db, { conditions: createConditions({ monotonic: () => 0, log }), concerns });
  await watch.runOnce();
  expect(concerns.list()).toEqual([expect.stringMatching(/^1 webhooks are not sent any more.+redeliver <id>`$/)]);

  // Once what ended the processes is mended, it is sent like any other.
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
  await watch.runOnce();
  expect(concerns.list()).toEqual([]);
  await watch.close();
});
