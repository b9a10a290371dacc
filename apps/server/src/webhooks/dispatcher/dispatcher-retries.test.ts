import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import {
  type DispatchHarness,
  type HarnessEndpoint,
  openDispatchHarness,
} from "../../../test/webhooks/dispatcher.harness.ts";
import { answered, broken } from "../../../test/webhooks/far.ts";

const HOUR = 3_600_000;
const SCHEDULE = "5s 30s 2m 10m 30m 1h 2h 4h 8h 12h 12h 16h 17h"
  .split(" ")
  .map((text) => Number.parseInt(text, 10) * ({ s: 1_000, m: 60_000, h: HOUR }[text.slice(-1)] ?? Number.NaN));
/** The harness always draws 0.5, so half of the random extra time of up to 10 % is added. */
const LENGTHENED = 1.05;

let harness: DispatchHarness;
let failing: HarnessEndpoint;
let canary: HarnessEndpoint;
beforeEach(async () => {
  harness = await openDispatchHarness();
  failing = await harness.endpoint();
  canary = await harness.endpoint({ event: "ride.completed" });
  harness.worker();
});
afterEach(() => harness.close());

/** Waits until the dispatcher has sent what is due now: until a new event has arrived at another endpoint. */
async function lookedThrough(): Promise<void> {
  const before = harness.far.received(canary.url).length;
  await harness.happen(1, { event: "ride.completed" });
  await until(() => harness.far.received(canary.url).length > before);
  await harness.drained(canary.id);
}

/** Waits until the log has `n` attempts of the failing endpoint, and returns them. */
async function logged(n: number) {
  await until(async () => (await harness.attempts(failing.id)).length === n);
  return harness.attempts(failing.id);
}

test("a delivery that always fails is sent 14 times, never before its time, and then given up", async () => {
  harness.far.respond = ({ url }) => (url === failing.url ? answered(500) : answered(204));
  await harness.happen();
  for (const [index, wait] of SCHEDULE.entries()) {
    const last = (await logged(index + 1)).at(-1);
    const next = last?.next_attempt_at?.getTime() ?? Number.NaN;
    const waited = next - (last?.started_at.getTime() ?? Number.NaN);
    // The clock may advance by a millisecond or two while the delivery is sent.
    expect(waited - wait * LENGTHENED).toBeOneOf([0, 1, 2]);
    expect(last?.next_attempt_reason).toBe(`after attempt ${index + 1} of 14: answered 500`);
    harness.clock.advance(next - 2 - harness.clock());
    await lookedThrough();
    expect(harness.far.received(failing.url)).toHaveLength(index + 1);
    harness.clock.advance(next - harness.clock());
    harness.wake();
  }
  const all = await logged(14);
  expect(all.at(-1)).toMatchObject({
    number: 14,
    outcome: "rejected",
    next_attempt_at: null,
    next_attempt_reason: null,
  });
  expect(await harness.deliveries(failing.id)).toMatchObject([{ status: "failed", attempts: 14, due_at: null }]);
  harness.clock.advance(100 * HOUR);
  await lookedThrough();
  expect(harness.far.received(failing.url)).toHaveLength(14);
});

test("Retry-After lengthens the wait, to 6 hours at most, and never shortens it", async () => {
  const asked = [1_000, HOUR, 24 * HOUR];
  harness.far.respond = ({ url }) => {
    if (url !== failing.url) return answered(204);
    return answered(503, asked[harness.far.received(failing.url).length - 1] ?? null);
  };
  await harness.happen();
  const waits: number[] = [];
  for (const n of [1, 2, 3]) {
    const last = (await logged(n)).at(-1);
    const next = last?.next_attempt_at?.getTime() ?? Number.NaN;
    waits.push(Math.floor((next - (last?.started_at.getTime() ?? Number.NaN)) / LENGTHENED / 100) * 100);
    harness.clock.advance(next - harness.clock());
    harness.wake();
  }
  expect(waits).toEqual([5_000, HOUR, 6 * HOUR]);
});

test("a delivery that succeeds at its third attempt is sent no more, and each attempt is in the log", async () => {
  const answers = [broken("connect_refused"), answered(302), answered(204)];
  harness.far.respond = ({ url }) =>
    (url === failing.url ? answers[harness.far.received(failing.url).length - 1] : undefined) ?? answered(204);
  await harness.happen();
  for (const n of [1, 2]) {
    await logged(n);
    harness.clock.advance(HOUR);
    harness.wake();
  }
  expect(await logged(3)).toMatchObject([
    {
      number: 1,
      outcome: "failed",
      status: null,
      next_attempt_reason: "after attempt 1 of 14: no whole answer (connect_refused)",
    },
    { number: 2, outcome: "rejected", status: 302 },
    { number: 3, outcome: "succeeded", status: 204, next_attempt_at: null },
  ]);
  harness.clock.advance(100 * HOUR);
  await lookedThrough();
  expect(harness.far.received(failing.url)).toHaveLength(3);
  expect(await harness.deliveries(failing.id)).toMatchObject([{ status: "succeeded", attempts: 3, due_at: null }]);
});
