import { type RunOutcome, runPlan } from "@bikeshare/load";
import { describe, expect, it } from "vitest";
import { invalidReasons } from "../src/verdict.ts";
import { planOf, startLoopbackServer } from "./loopback-server.ts";

describe.concurrent("the load test measures what callers would see", () => {
  it("a server that stands still for half a second in ten is slow in the p99, which a closed model hides", async (context) => {
    const { url, stall } = await startLoopbackServer(context, { delayMs: 5 });
    // Stalls the server only after both runs have begun, however long their threads took to start.
    const underWay = new Set<string>();
    const onSecond = (run: string) => () => {
      if (!underWay.has(run) && underWay.add(run).size === 2) stall(500);
    };
    const durationMs = 10_000;
    const open = runPlan({
      plan: planOf(url, { durationMs, stream: { ratePerSecond: 200 } }),
      onSecond: onSecond("open"),
    });
    const closed = runPlan({
      plan: planOf(url, { durationMs, mode: "closed", connections: 1 }),
      onSecond: onSecond("closed"),
    });
    const [seen, hidden] = await Promise.all([open, closed]);
    // A twentieth of the requests start during the stall. A fifth of these wait for at least 400 ms.
    expect(seen.latency.response.percentiles["99"]).toBeGreaterThan(300);
    expect(hidden.latency.response.max).toBeGreaterThan(450);
    if (isTooBusy(seen)) return;
    expect(seen.latency.response.percentiles["50"]).toBeLessThan(50);
    expect(hidden.latency.response.percentiles["99"]).toBeLessThan(100);
  });

  it("a constant delay is measured to the millisecond by several threads, or the run says that it is invalid", async (context) => {
    const { url, delays } = await startLoopbackServer(context, { delayMs: 20, isExact: true });
    const plan = planOf(url, { durationMs: 3000, workers: 2, stream: { ratePerSecond: 60 } });
    const outcome = await runPlan({ plan });
    expect(outcome.totals).toMatchObject({ started: 180, answered: 180, unexpected: 0 });
    const [fastest = 0] = await delays();
    expect(fastest).toBeGreaterThanOrEqual(20);
    for (const { percentiles } of [outcome.latency.response, outcome.latency.service]) {
      expect(percentiles["1"]).toBeGreaterThanOrEqual(fastest);
      // Other load on the machine makes responses later, never earlier.
      if (!isTooBusy(outcome)) expect(percentiles["1"]).toBeLessThan(fastest + 1);
    }
  });

  it("a closed run ends in time if its scenario has nothing to send", async (context) => {
    const { url } = await startLoopbackServer(context);
    const stream = { scenario: "ride-commands", bikes: [] };
    const plan = planOf(url, { durationMs: 200, mode: "closed", connections: 2, stream });
    const { streams } = await runPlan({ plan });
    expect(streams[0]?.outcomes).toEqual([
      { endpoint: "ride-commands", outcome: "never started", isExpected: false, count: 2 },
    ]);
  });
});

/** Tells whether the machine was so busy that the load test calls the run invalid. */
function isTooBusy(outcome: RunOutcome): boolean {
  return invalidReasons(outcome, { mode: "open", connections: 100 }).length > 0;
}
