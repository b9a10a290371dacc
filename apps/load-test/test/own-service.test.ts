import { existsSync } from "node:fs";
import { scenarioNames, scenarios } from "@bikeshare/load";
import { expect, it } from "vitest";
import { measure } from "../src/measure.ts";
import { type Profile, profileOf } from "../src/profiles.ts";
import { fillReplay, planReplay } from "../src/replay/recorded-day.ts";
import { openOwnService } from "../src/service-under-load.ts";

const settings = {
  mode: "open",
  warmUpMs: 0,
  seed: 1,
  workers: 1,
  connections: 64,
  checkEvery: 5,
  thresholds: [],
} as const;

function rateOf(scenario: string): number {
  // `limit-storm` must send enough requests to exceed the limits of its two keys.
  if (scenarios[scenario]?.needsLimitedKeys === true) return 100;
  // Each request is a batch of a hundred commands.
  return scenario === "operator-batches" ? 1 : 8;
}

/** Every scenario with a few requests each. Their durations do not matter here. */
const profile: Profile = {
  ...profileOf(scenarioNames, { ratePerSecond: 8, arrivals: "constant" }, 2000),
  city: { stations: 30, bikes: 1200, rides: 1000 },
  partners: 3,
  subscribers: 2,
  streams: scenarioNames.map((scenario) => ({
    ...{ name: scenario, scenario, arrivals: "constant" },
    ratePerSecond: rateOf(scenario),
  })),
};

it("every scenario gets what it expects of a service, every webhook arrives, and nothing is left behind", async () => {
  const service = await openOwnService({ profile, seed: 1, workers: 1, niceness: 0, onProgress: () => undefined });
  try {
    const result = await measure({ service, profile, settings });
    const unexpected = result.streams.flatMap(({ outcomes }) => outcomes.filter(({ isExpected }) => !isExpected));
    expect(unexpected).toEqual([]);
    expect(result.violations).toEqual([]);
    expect(result.contract.violations).toEqual([]);
    expect(result.contract.checked).toBeGreaterThan(20);
    expect(result.webhooks).toMatchObject({ endpoints: 2, lost: 0, repeated: 0, unverified: 0 });
    expect(result.webhooks?.expected).toBeGreaterThan(30);
    const storm = result.streams.find(({ scenario }) => scenario === "limit-storm");
    expect(storm?.outcomes.map(({ outcome, count }) => [outcome, count])).toEqual([
      ["200", 120],
      ["429 rate_limited", 80],
    ]);
    const denied = result.streams.find(({ scenario }) => scenario === "denied-access")?.outcomes;
    expect(new Set(denied?.map(({ outcome }) => outcome.slice(0, 3)))).toEqual(new Set(["401", "403", "404"]));
    expect(result.serverMetrics.map(({ title }) => title)).toContain("Resident memory");
    const replay = planReplay(
      [0, 1, 2, 3].map((n) => ({
        ...{ startedAt: n * 1000, endedAt: n * 1000 + 5000 },
        ...{
          from: { id: "recorded-a", name: "A", lat: 1, lon: 2 },
          to: { id: "recorded-b", name: "B", lat: 1, lon: 2 },
        },
      })),
      10,
      "replayed-",
    );
    await fillReplay(service.url, service.operatorKey ?? "", replay, new Set());
    const streams = [{ name: "replay", scenario: "replay", ratePerSecond: 8, arrivals: "constant" }] as const;
    const replayed = await measure({ service, settings, profile: { ...profile, durationMs: 1000, streams, replay } });
    expect(replayed).toMatchObject({ violations: [], totals: { answered: 8, unexpected: 0 } });
    // Webhooks are expected only for the rides of the second run.
    expect(replayed.webhooks).toMatchObject({ expected: 16, received: 16, lost: 0, repeated: 0 });
  } finally {
    await service.close();
  }
  expect(existsSync(service.directory)).toBe(false);
  expect(() => process.kill(service.pid, 0)).toThrow("ESRCH");
});
