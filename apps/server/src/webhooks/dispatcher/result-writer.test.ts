import { expect, test } from "vitest";
import { until } from "../../../test/until.ts";
import { openDispatchHarness } from "../../../test/webhooks/dispatcher.harness.ts";
import { answered } from "../../../test/webhooks/far.ts";
import { startProcess } from "../../../test/webhooks/process.ts";

const outcomes = (log: readonly { number: number; outcome: string }[]) =>
  log.map(({ number, outcome }) => `${number} ${outcome}`);

test("a result whose commit was not acknowledged is written once, also where the next attempt has begun by then", async () => {
  const harness = await openDispatchHarness();
  const { dispatcher, db, gate, count } = startProcess(harness, harness.db, harness.systemId);
  try {
    await harness.endpoint();
    await harness.happen();
    dispatcher.reload();
    await until(() => gate.waiting.length === 1);
    db.loseNextAnswer();
    gate.open(answered(500));
    await until(async () => (await harness.attempts()).length === 1);
    // The delivery becomes due again before its result is written for the second time.
    harness.clock.advance(10_000);
    dispatcher.wake();
    await until(async () => (await harness.deliveries())[0]?.claim !== null);
    await until(() => gate.waiting.length === 1);
    gate.open(answered(204));
    await harness.drained();
    expect(outcomes(await harness.attempts())).toEqual(["1 rejected", "2 succeeded"]);
    expect(await harness.deliveries()).toMatchObject([{ status: "succeeded", attempts: 2 }]);
    await until(() => count.written === 2);
    expect(count.stale).toBe(1);
  } finally {
    gate.open();
    await dispatcher.close();
    await harness.close();
  }
});
