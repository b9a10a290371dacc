import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import { showDelivery } from "../log/deliveries.ts";
import type { AttemptResult } from "../rules/after-attempt.ts";
import { DAILY_ANSWER_BYTES } from "../rules/log-budget.ts";
import { readBacklog } from "../worker.ts";

let harness: DispatchHarness;
let endpoint: HarnessEndpoint;
beforeEach(async () => {
  harness = await openDispatchHarness();
  endpoint = await harness.endpoint();
});
afterEach(() => harness.close());

const loud = (status: number): AttemptResult => ({ ...answered(status), answerBody: new Uint8Array(65_536).fill(120) });
const kept = () =>
  harness.rows<{ bytes: number; cut: boolean; truncation_reason: string | null }>(
    `select octet_length(response_body) as bytes, response_truncated as cut, truncation_reason as truncation_reason
     from webhook_attempts where system_id = $1 order by started_at, delivery_id, number`,
  );
const sizes = () =>
  harness.rows<{ day: string; bytes: number; answer_bytes: number }>(
    "select day::text as day, bytes, answer_bytes from webhook_log_sizes where system_id = $1 order by day",
  );
const today = () => new Date(harness.clock()).toISOString().slice(0, 10);

test("a receiver that answers 64 KiB each time fills the log with 2 KiB of a success, and 64 KiB of five failures", async () => {
  harness.far.respond = () => loud(200);
  await harness.happen(3);
  const worker = harness.worker();
  await harness.drained();
  expect(await kept()).toEqual(
    Array.from({ length: 3 }, () => ({ bytes: 2_048, cut: true, truncation_reason: "success" })),
  );
  harness.far.respond = () => loud(500);
  await harness.happen(7);
  await until(async () => (await kept()).length === 10);
  const failures = (await kept()).filter(({ truncation_reason: truncationReason }) => truncationReason !== "success");
  expect(failures.filter(({ bytes }) => bytes === 65_536)).toHaveLength(5);
  expect(
    failures.filter(({ truncation_reason: truncationReason }) => truncationReason === "repeated_failure"),
  ).toHaveLength(2);
  expect(worker.errors).toEqual([]);
});

test("what a day's answers take is counted on by the next worker; past the budget a summary is kept, and marked", async () => {
  harness.far.respond = () => loud(200);
  await harness.happen(5);
  const first = harness.worker();
  await harness.drained();
  await first.close();
  const [size] = await sizes();
  expect(size).toMatchObject({ day: today(), answer_bytes: 5 * (2_048 + "Server: far\r\n".length - 256) });
  expect(size?.bytes).toBeGreaterThan(5 * 2_048);

  const nearly = DAILY_ANSWER_BYTES - 1;
  await harness.rows("update webhook_log_sizes set answer_bytes = $2 where system_id = $1", nearly);
  await harness.rows(
    `insert into webhook_log_sizes (system_id, endpoint_id, day, bytes, answer_bytes)
     values ($1, $2, $3::date - 31, 7, 7), ($1, $2, $3::date - 30, 9, 9)`,
    endpoint.id,
    today(),
  );
  const second = harness.worker();
  await harness.happen(1);
  await harness.drained();
  await harness.happen(1);
  await harness.drained();
  await second.close();
  expect((await kept()).slice(5)).toEqual([
    { bytes: 2_048, cut: true, truncation_reason: "success" },
    { bytes: 0, cut: true, truncation_reason: "daily_budget" },
  ]);
  const last = (await harness.deliveries()).at(-1)?.id ?? "";
  const scope = { systemId: harness.systemId, partnerId: endpoint.partnerId };
  const [exchange] = (await showDelivery(harness, scope, last)).exchanges;
  expect(exchange?.answer).toMatchObject({
    status: 200,
    headers: [["Server", "far"]],
    truncation_reason: "daily_budget",
  });
  // A day whose log is dropped is not counted. Every other day is counted completely.
  const counted = await sizes();
  expect(counted.map(({ bytes }) => bytes).slice(0, -1)).toEqual([9]);
  const total = counted.reduce((sum, { bytes }) => sum + bytes, 0);
  expect((await readBacklog(harness, harness.systemId)).logs).toEqual([
    { partnerId: endpoint.partnerId, bytes: total },
  ]);
});
