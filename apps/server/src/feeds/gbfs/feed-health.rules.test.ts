import fc from "fast-check";
import { expect, test } from "vitest";
import { afterFailure, afterSuccess, type FeedHealth, UNKNOWN_HEALTH } from "./feed-health.rules.ts";

const fail = (health: FeedHealth, now: number, retryAfterMs: number | null = null, intervalMs = 30_000) =>
  afterFailure(health, { now, message: "HTTP 500", retryAfterMs, intervalMs });

test("a feed that fails is asked in the next round, then ever more rarely, five minutes apart at most", () => {
  let health = afterSuccess(0);
  const pauses: number[] = [];
  for (let n = 0; n < 8; n++) {
    health = fail(health, 1_000);
    pauses.push((health.retryAt - 1_000) / 1_000);
  }
  expect(pauses).toEqual([0, 30, 90, 210, 300, 300, 300, 300]);
  expect(afterSuccess(9_000)).toEqual({ ...UNKNOWN_HEALTH, goodAt: 9_000 });
});

test("whatever happens, it waits as long as its server asked, an hour at most, and keeps when it was good and failed first", () => {
  const failure = fc.record({
    after: fc.integer({ min: 0, max: 1e9 }),
    retryAfterMs: fc.option(fc.integer({ min: 0, max: 4e10 })),
  });
  fc.assert(
    fc.property(fc.array(failure, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 1e9 }), (all, every) => {
      let health = afterSuccess(5);
      let now = 5;
      for (const { after, retryAfterMs } of all) {
        now += after;
        health = fail(health, now, retryAfterMs, every);
        expect(health.retryAt - now).toBeGreaterThanOrEqual(Math.min(retryAfterMs ?? 0, 3_600_000));
        expect(health.retryAt - now).toBeLessThanOrEqual(3_600_000);
      }
      expect(health).toMatchObject({ goodAt: 5, failures: all.length, failingSince: 5 + (all[0]?.after ?? 0) });
    }),
  );
});
