import { expect, test } from "vitest";
import { runCrashes } from "../../../test/webhooks/crash/run.ts";

// `bench/crash.ts` does the same with 200 kills. After a few of them, the lease expires by itself.
test("a worker killed twice and PostgreSQL once, under load: nothing is lost, and the log accounts for every receipt", async () => {
  const points = [0.2, 0.9, 0.7, 0.1, 0.5];
  const report = await runCrashes({
    kills: 3,
    trueLeases: 0,
    endpoints: 4,
    eventsPerSecond: 40,
    random: () => points.shift() ?? 0.5,
    onProgress: () => undefined,
  });
  expect(report).toMatchObject({
    workerKills: 2,
    postgresKills: 1,
    eventsLost: 0,
    deliveriesLost: 0,
    notAsLogged: 0,
    notInLog: 0,
    gapsInLog: 0,
  });
  expect(report.deliveries).toBe(report.events * 4);
  expect(report.events).toBeGreaterThan(10);
  // The log marks every delivery that was in flight or claimed in advance as unknown, so at least as many as arrived twice.
  expect(report.repeats).toBeLessThanOrEqual(report.unknown);
});
