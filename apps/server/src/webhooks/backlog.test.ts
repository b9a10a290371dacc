import { afterEach, beforeEach, expect, test } from "vitest";
import { type DispatchHarness, openDispatchHarness } from "../../test/webhooks/dispatcher.harness.ts";
import { readBacklog } from "./worker.ts";

const HOUR = 3_600_000;

let harness: DispatchHarness;
beforeEach(async () => {
  harness = await openDispatchHarness();
});
afterEach(() => harness.close());

const backlog = () => readBacklog(harness, harness.systemId);

/** Creates an endpoint that began to fail `since` hours ago and failed last `last` hours ago. */
async function failing(since: number, last: number): Promise<string> {
  const { id, partnerId } = await harness.endpoint();
  const ago = (hours: number) => new Date(harness.clock() - hours * HOUR);
  await harness.rows(
    "update webhook_lanes set failing_since = $3, last_failed_at = $4 where system_id = $1 and endpoint_id = $2",
    id,
    ago(since),
    ago(last),
  );
  return partnerId;
}

test("a system without endpoints has nothing to show, and no worker", async () => {
  expect(await backlog()).toEqual({
    systemId: harness.systemId,
    pending: 0,
    oldestDueMs: null,
    held: 0,
    endpoints: { active: 0, probing: 0, paused: 0 },
    stranded: 0,
    waitingMails: 0,
    workers: 0,
    failing: [],
    logs: [],
  });
});

test("what waits is counted, and for how long", async () => {
  const { id } = await harness.endpoint();
  await harness.happen(3);
  await harness.rows(
    `insert into webhook_mails (system_id, id, endpoint_id, subject, body, created_at, due_at)
     values ($1, 'mail_1', $2, 's', 'b', now(), now())`,
    id,
  );
  harness.clock.advance(5_000);
  expect(await backlog()).toMatchObject({ pending: 3, oldestDueMs: 5_003, waitingMails: 1, endpoints: { active: 1 } });
});

test("a worker is counted while it says that it lives", async () => {
  const alive = "insert into webhook_workers (system_id, worker, alive_until) values ($1, $2, now() + $3::interval)";
  await harness.rows(alive, "worker_1", "1 hour");
  await harness.rows(alive, "worker_2", "-1 s");
  expect((await backlog()).workers).toBe(1);
});

test("endpoints that fail now are shown, the longest first: none that fell silent, is paused, or was removed", async () => {
  const second = await failing(2, 1);
  const first = await failing(60, 23.9);
  await failing(60, 24.1);
  const paused = await failing(80, 1);
  const removed = await failing(80, 1);
  const pause =
    "update webhook_endpoints set status = 'paused', pause_reason = $3, events = $4, paused_at = now() where system_id = $1 and partner_id = $2";
  await harness.rows(pause, paused, "failing", ["ride.started"]);
  await harness.rows(pause, removed, "removed", []);
  const shown = await backlog();
  expect(shown.failing).toEqual([
    { partnerId: first, failingMs: 60 * HOUR },
    { partnerId: second, failingMs: 2 * HOUR },
  ]);
  expect(shown.endpoints).toEqual({ active: 3, probing: 0, paused: 1 });
});

test("of many failing endpoints 20 are shown, so that a bad day makes no thousand time series", async () => {
  for (let n = 1; n <= 21; n++) await failing(n, 0);
  const { failing: shown } = await backlog();
  expect(shown.map(({ failingMs }) => failingMs / HOUR)).toEqual(Array.from({ length: 20 }, (_, index) => 21 - index));
});
