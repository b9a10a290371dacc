import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AfterResult, afterResult, type EndpointResult, type EndpointStatus, HEALTHY } from "./after-attempt.ts";

const START = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR = 3_600_000;

/** Returns what each result in turn makes of an active endpoint. */
function follow(results: readonly EndpointResult[]): AfterResult[] {
  let [health, status]: [AfterResult["health"], EndpointStatus] = [HEALTHY, "active"];
  return results.map((result) => {
    const after = afterResult(health, status, result);
    ({ health, status } = after);
    return after;
  });
}

describe("whatever happens to an active endpoint", () => {
  /**
   * A series of results. The gaps between them are in hours: often short, sometimes about a day, which is the limit of the
   * rule.
   */
  const history = fc.array(
    fc.record({
      gap: fc.oneof({ weight: 8, arbitrary: fc.nat(18) }, fc.constantFrom(0, 24, 25, 200)),
      deliveryId: fc.constantFrom("a", "b", "c", "d"),
      outcome: fc.constantFrom("rejected", "rejected", "rejected", "failed", "failed", "failed", "failed", "unknown"),
      isSuccess: fc.integer({ min: 0, max: 59 }).map((n) => n === 0),
    }),
    { minLength: 30, maxLength: 90 },
  );

  function resultsOf(steps: typeof history extends fc.Arbitrary<infer Steps> ? Steps : never): EndpointResult[] {
    let endedAt = START;
    return steps.map(({ gap, deliveryId, outcome, isSuccess }) => {
      endedAt += gap * HOUR;
      const status = outcome === "rejected" ? 500 : null;
      return isSuccess
        ? { deliveryId, outcome: "succeeded", status: 200, endedAt }
        : { deliveryId, outcome, status, endedAt };
    });
  }

  /**
   * The same rule in other words: looks back over the whole history and returns the stretch that the last result belongs to.
   */
  function stretchBefore(results: readonly EndpointResult[]): readonly EndpointResult[] {
    const sinceSuccess = results.slice(results.findLastIndex(({ outcome }) => outcome === "succeeded") + 1);
    const failures = sinceSuccess.filter(({ outcome }) => outcome !== "unknown");
    const begin = failures.findLastIndex(
      ({ endedAt }, index) => endedAt - (failures[index - 1]?.endedAt ?? Number.NEGATIVE_INFINITY) > 24 * HOUR,
    );
    return failures.slice(Math.max(0, begin));
  }

  function mustPause(stretch: readonly EndpointResult[]): boolean {
    const [first] = stretch;
    const [end] = stretch.slice(-1);
    if (first === undefined || end === undefined) return false;
    const deliveries = new Set(stretch.map(({ deliveryId }) => deliveryId));
    return end.endedAt - first.endedAt >= 72 * HOUR && stretch.length >= 20 && deliveries.size >= 3;
  }

  test("it is paused at the first result at which its stretch of failing is 72 h, 20 failures and 3 deliveries, and at no other", () => {
    let pauses = 0;
    fc.assert(
      fc.property(history, (drawn) => {
        const results = resultsOf(drawn);
        const steps = follow(results);
        const expected = results.findIndex(
          ({ outcome }, index) =>
            outcome !== "unknown" && outcome !== "succeeded" && mustPause(stretchBefore(results.slice(0, index + 1))),
        );
        expect(steps.findIndex(({ pauseReason }) => pauseReason === "failing")).toBe(expected);
        if (expected >= 0) pauses++;
        else expect(steps.every(({ status }) => status === "active")).toBe(true);
      }),
      { numRuns: 2_000, seed: 72 },
    );
    // Enough of the random histories must contain a pause, or the test shows nothing.
    expect(pauses).toBeGreaterThan(100);
  });

  test("what it remembers is what its stretch of failing says", () => {
    fc.assert(
      fc.property(history, (drawn) => {
        const results = resultsOf(drawn);
        const steps = follow(results);
        const paused = steps.findIndex(({ status }) => status === "paused");
        const index = paused < 0 ? steps.length - 1 : paused;
        const stretch = stretchBefore(results.slice(0, index + 1));
        const health = steps[index]?.health ?? HEALTHY;
        expect(health.failures).toBe(stretch.length);
        expect(health.failingSince).toBe(stretch[0]?.endedAt ?? null);
        expect(health.lastFailedAt).toBe(stretch.at(-1)?.endedAt ?? null);
        expect(health.failedDeliveries).toEqual([...new Set(stretch.map(({ deliveryId }) => deliveryId))].slice(0, 3));
      }),
      { numRuns: 1_000, seed: 3 },
    );
  });

  test("its warnings rise within a stretch of failing, and each is due", () => {
    fc.assert(
      fc.property(history, (drawn) => {
        const results = resultsOf(drawn);
        let given: { readonly since: number | null; readonly warning: number } = { since: null, warning: 0 };
        for (const { health, warning } of follow(results)) {
          if (warning === null) continue;
          const since = health.failingSince;
          const failingFor = (health.lastFailedAt ?? 0) - (since ?? 0);
          expect(failingFor).toBeGreaterThanOrEqual((72 * HOUR * warning) / 100);
          if (since === given.since) expect(warning).toBeGreaterThan(given.warning);
          given = { since, warning };
        }
      }),
      { numRuns: 1_000, seed: 25 },
    );
  });
});
