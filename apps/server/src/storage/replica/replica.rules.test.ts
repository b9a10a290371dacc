import fc from "fast-check";
import { expect, it, test } from "vitest";
import { judge, LagMeter } from "./replica.rules.ts";

const written = { lsn: 100, token: "new" };

test.each([
  ["has replayed just as much", { lsn: 100, token: "new", isReplica: true }, "current"],
  ["has replayed more", { lsn: 200, token: "new", isReplica: true }, "current"],
  ["has replayed less", { lsn: 99, token: "new", isReplica: true }, "behind"],
  ["has replayed less than the token", { lsn: 99, token: "old", isReplica: true }, "behind"],
  ["followed the primary before a failover", { lsn: 200, token: "old", isReplica: true }, "unrelated"],
  ["is of another cluster", { lsn: 200, token: null, isReplica: true }, "unrelated"],
  ["was promoted", { lsn: 200, token: "new", isReplica: false }, "promoted"],
  ["has always been a primary", { lsn: null, token: "new", isReplica: false }, "promoted"],
] as const)("a server that %s", (_, replayed, verdict) => {
  expect(judge(replayed, written)).toBe(verdict);
});

it("where no process has written a token, nothing is current", () => {
  expect(judge({ lsn: 100, token: null, isReplica: true }, { lsn: 100, token: null })).toBe("unrelated");
});

it("a constant lag is measured to within the time between two polls, over hours as well", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 40, max: 400 }), (lagMs, polls) => {
      const lag = new LagMeter(0);
      for (let now = 0; now < polls * 250; now += 250) {
        // The primary writes one byte in each millisecond.
        lag.written(now, now);
        lag.replayed(now - lagMs);
      }
      const now = polls * 250;
      expect(lag.lagMs(now)).toBeGreaterThanOrEqual(Math.min(lagMs, now));
      expect(lag.lagMs(now)).toBeLessThanOrEqual(Math.min(lagMs + 500, now));
    }),
  );
});

it("a replica that stands still for a day and then catches up is as old as it is, in little memory", () => {
  const lag = new LagMeter(0);
  const day = 86_400_000;
  for (let now = 0; now <= day; now += 250) lag.written(now, now);
  expect(lag.lagMs(day)).toBe(day);
  lag.replayed(day / 2);
  const half = lag.lagMs(day);
  expect(half).toBeGreaterThanOrEqual(day / 2);
  expect(half).toBeLessThan(day / 2 + 10 * 60_000);
  lag.replayed(day);
  expect(lag.lagMs(day)).toBeLessThan(10 * 60_000);
});
