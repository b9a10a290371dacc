import { createRandom } from "@bikeshare/simulator";
import { expect, it } from "vitest";
import { runKills } from "./kills.ts";

// `pnpm bench bad-days 1000` does the same with a thousand kills.
it.skipIf(process.platform !== "linux")(
  "processes that are frozen and killed under load: nothing acknowledged is lost, no answer is wrong, every event arrives",
  async () => {
    const report = await runKills({
      victims: ["frozen-worker", "backend", "api", "postmaster"],
      requestsPerSecond: 15,
      maxPauseMs: 300,
      expiringShare: 0,
      random: createRandom(5),
      seed: 5,
      onProgress: () => undefined,
    });
    expect(report.workload.failures).toEqual([]);
    expect(report.check).toBe("");
    expect(report.kills).toHaveLength(4);
    expect(report.workload.events).toBeGreaterThan(30);
  },
);
