import { describe, expect, it } from "vitest";
import { runPlan } from "../src/load/run.ts";
import { planOf, startLoopbackServer } from "./loopback-server.ts";

describe.concurrent("the load test measures what callers would see", () => {
  it("a server that stands still for half a second in ten is slow in the p99, which a closed model hides", async (context) => {
    const { url, stall } = await startLoopbackServer(context, { delayMs: 5 });
    // Both runs are under way when it happens, however long their threads took to start.
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
    const [{ latency: seen }, { latency: hidden }] = await Promise.all([open, closed]);
    // A twentieth of the requests falls into the stall, and a fifth of those waits for 400 ms and more.
    expect(seen.response.percentiles["99"]).toBeGreaterThan(300);
    expect(seen.response.percentiles["50"]).toBeLessThan(50);
    expect(hidden.response.percentiles["99"]).toBeLessThan(100);
    expect(hidden.response.max).toBeGreaterThan(450);
  });

  it("a constant delay is measured to the millisecond, by one thread and by several", async (context) => {
    const { url, delays } = await startLoopbackServer(context, { delayMs: 20, isExact: true });
    const plan = planOf(url, { durationMs: 3000, workers: 2, stream: { ratePerSecond: 60 } });
    const { latency, totals } = await runPlan({ plan });
    // What else runs on the machine makes answers later, for the server as well, and none earlier.
    const [fastest = 0] = await delays();
    expect(fastest).toBeGreaterThanOrEqual(20);
    for (const { percentiles } of [latency.response, latency.service]) {
      expect(percentiles["1"]).toBeGreaterThanOrEqual(fastest);
      expect(percentiles["1"]).toBeLessThan(fastest + 1);
    }
    expect(totals).toMatchObject({ started: 180, answered: 180, unexpected: 0 });
  });
});
