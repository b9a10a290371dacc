import fc from "fast-check";
import { expect, it } from "vitest";
import { type KeyUse, rateLimitViolations } from "./rate-limit.rules.ts";

// A fixed seed: a test that fails on one machine fails on every machine.
fc.configureGlobal({ seed: 1 });

const policy = { requests: 60, windowMs: 60_000 };

/** Returns the answers of an exact sliding window to requests at these times. */
function answersOf(times: readonly number[], limit: number, tookMs: number): KeyUse[] {
  const accepted: number[] = [];
  return times.map((time) => {
    const isAccepted = accepted.filter((at) => at > time - policy.windowMs).length < limit;
    if (isAccepted) accepted.push(time);
    return { isAccepted, sentAt: time - tookMs / 2, answeredAt: time + tookMs / 2 };
  });
}

const timesOf = fc
  .array(fc.integer({ min: 1, max: 900 }), { minLength: 150, maxLength: 400 })
  .map((gaps) => gaps.map((_, index) => gaps.slice(0, index + 1).reduce((sum, gap) => sum + gap, 0)));

it("an exact limit has no violation, however long its answers take", () => {
  fc.assert(
    fc.property(timesOf, fc.integer({ min: 0, max: 800 }), (times, tookMs) => {
      expect(rateLimitViolations(answersOf(times, 60, tookMs), policy)).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

it("one request more or less than the limit is found", () => {
  const times = Array.from({ length: 300 }, (_, index) => index * 100);
  expect(rateLimitViolations(answersOf(times, 61, 5), policy)).toEqual([
    "more than 60 requests were accepted within 60 s",
  ]);
  expect(rateLimitViolations(answersOf(times, 59, 5), policy)).toEqual([
    "a request was rejected though only 59 of 60 were accepted in the 60 s before it",
  ]);
});

it("a service that does not say its limit is found", () => {
  const uses = answersOf([0, 1, 2], 60, 1);
  expect(rateLimitViolations(uses, { requests: 0, windowMs: 0 })).toEqual(["no answer had a RateLimit-Policy"]);
});
