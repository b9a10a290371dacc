import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterAttempt, type AttemptEnd, MAX_TRIES, RETRY_DELAYS_MS } from "./after-attempt.ts";

const AT = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR = 3_600_000;

function ended(fields: Partial<AttemptEnd> = {}) {
  const attempt = {
    tries: 1,
    outcome: "rejected",
    status: 500,
    failure: null,
    endedAt: AT,
    retryAfterMs: null,
  } as const;
  return afterAttempt({ ...attempt, chance: 0, ...fields });
}

function waitAfter(fields: Partial<AttemptEnd>): number {
  const after = ended(fields);
  if (after.state !== "pending") throw new Error(`expected another attempt, not ${after.state}`);
  return after.nextAt - AT;
}

describe("the schedule", () => {
  test("has 14 attempts within 72 to 73 hours, 80 with all jitter, and never grows impatient", () => {
    expect(MAX_TRIES).toBe(14);
    const whole = RETRY_DELAYS_MS.reduce((sum, delay) => sum + delay, 0);
    expect(whole).toBe(72 * HOUR + 42 * 60_000 + 35_000);
    expect(whole * 1.1).toBeLessThan(80 * HOUR);
    expect(RETRY_DELAYS_MS).toEqual(RETRY_DELAYS_MS.toSorted((a, b) => a - b));
    expect(RETRY_DELAYS_MS[0]).toBe(0);
  });

  test("an attempt that succeeds is the last", () => {
    expect(ended({ outcome: "succeeded", status: 204 })).toEqual({ state: "succeeded" });
    expect(ended({ outcome: "succeeded", status: 200, tries: 14 })).toEqual({ state: "succeeded" });
  });

  test.each(["rejected", "failed", "unknown"] as const)(
    "after the 14th attempt that is %s it is given up",
    (outcome) => {
      expect(ended({ outcome, tries: 13 }).state).toBe("pending");
      expect(ended({ outcome, tries: 14 })).toEqual({ state: "failed" });
      expect(ended({ outcome, tries: 15 })).toEqual({ state: "failed" });
    },
  );

  test("an attempt whose result is unknown counts, and the next is due at once", () => {
    const unknown = ended({ outcome: "unknown", status: null, tries: 9, chance: 1, retryAfterMs: HOUR });
    expect(unknown).toEqual({ state: "pending", nextAt: AT, reason: "after attempt 9 of 14: result unknown" });
  });

  test("the wait is never shorter than the schedule's and at most a tenth longer, in whole milliseconds", () => {
    const anyAttempt = fc.record({
      tries: fc.integer({ min: 1, max: 13 }),
      outcome: fc.constantFrom("rejected" as const, "failed" as const),
      chance: fc.double({ min: 0, max: 1, noNaN: true }),
      endedAt: fc.integer({ min: 0, max: 4_102_444_800_000 }),
    });
    fc.assert(
      fc.property(anyAttempt, (attempt) => {
        const after = ended(attempt);
        if (after.state !== "pending") throw new Error(after.state);
        const [wait, delay] = [after.nextAt - attempt.endedAt, RETRY_DELAYS_MS[attempt.tries] ?? Number.NaN];
        expect(wait).toBeGreaterThanOrEqual(delay);
        expect(wait * 10).toBeLessThanOrEqual(delay * 11);
        expect(Number.isInteger(after.nextAt)).toBe(true);
      }),
    );
  });

  test("jitter uses all of its tenth", () => {
    expect([0, 0.5, 1].map((chance) => waitAfter({ tries: 6, chance }))).toEqual([
      HOUR,
      HOUR + 180_000,
      HOUR + 360_000,
    ]);
  });
});

describe("Retry-After", () => {
  test("lengthens the wait, with the same jitter", () => {
    expect(waitAfter({ retryAfterMs: 120_000 })).toBe(120_000);
    expect(waitAfter({ retryAfterMs: 120_000, chance: 1 })).toBe(132_000);
  });

  test("never shortens it", () => {
    expect(waitAfter({ tries: 8, retryAfterMs: 1_000 })).toBe(4 * HOUR);
    expect(waitAfter({ tries: 8, retryAfterMs: 0 })).toBe(4 * HOUR);
  });

  test("counts for 6 hours at most", () => {
    expect(waitAfter({ retryAfterMs: 7 * HOUR })).toBe(6 * HOUR);
    expect(waitAfter({ retryAfterMs: Number.POSITIVE_INFINITY })).toBe(6 * HOUR);
    expect(waitAfter({ tries: 9, retryAfterMs: 7 * HOUR })).toBe(8 * HOUR);
  });

  test("is ignored where it is not a duration", () => {
    expect(waitAfter({ retryAfterMs: -5_000 })).toBe(5_000);
    expect(waitAfter({ retryAfterMs: Number.NaN })).toBe(5_000);
  });

  test("is rounded up to whole milliseconds", () => {
    expect(waitAfter({ retryAfterMs: 6_000.2 })).toBe(6_001);
  });
});

test("the log says in words what happened and, where it was the receiver's wish, why the wait is so long", () => {
  const said = (fields: Partial<AttemptEnd>) => {
    const after = ended(fields);
    return after.state === "pending" ? after.reason : after.state;
  };
  expect(said({ tries: 3 })).toBe("after attempt 3 of 14: answered 500");
  expect(said({ outcome: "failed", status: null, failure: "connect_timeout" })).toBe(
    "after attempt 1 of 14: no whole answer (connect_timeout)",
  );
  expect(said({ outcome: "failed", status: null })).toBe("after attempt 1 of 14: no whole answer");
  expect(said({ status: 429, retryAfterMs: 120_000 })).toBe(
    "after attempt 1 of 14: answered 429; asked to wait 120 s by Retry-After",
  );
  expect(said({ status: 503, retryAfterMs: 1_000 })).toBe("after attempt 1 of 14: answered 503");
  expect(said({ status: 503, retryAfterMs: 100 * HOUR })).toBe(
    "after attempt 1 of 14: answered 503; asked to wait 21600 s by Retry-After",
  );
});
