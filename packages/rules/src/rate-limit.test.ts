import { createTestClock } from "@bikeshare/test-kit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryRateLimiter } from "./rate-limit.ts";

fc.configureGlobal({ seed: 1 });

const WINDOW = 60_000;

/** Steps forward in time, in milliseconds: many at once, some at the window's edges. */
const steps = fc.array(fc.oneof(fc.constant(0), fc.nat(200), fc.nat(20_000), fc.constantFrom(59_999, 60_000, 60_001)), {
  minLength: 1,
  maxLength: 300,
});

describe("the rate limiter in memory", () => {
  it("never allows more than the limit in any 60 s, and refuses only when the limit is reached", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 70 }), (moves, limit) => {
        const clock = createTestClock();
        const limiter = createMemoryRateLimiter(clock);
        const allowed: number[] = [];
        for (const move of moves) {
          clock.advance(move);
          const inWindow = allowed.filter((instant) => instant > clock() - WINDOW).length;
          const decision = limiter.take("key", limit);
          expect(decision.allowed).toBe(inWindow < limit);
          if (decision.allowed) allowed.push(clock());
          expect(decision.remaining).toBe(limit - inWindow - (decision.allowed ? 1 : 0));
          expect(decision.limit).toBe(limit);
        }
      }),
    );
  });

  it("lets a refused caller in again after exactly the seconds it named, at most 60", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), (moves, limit) => {
        const clock = createTestClock();
        const limiter = createMemoryRateLimiter(clock);
        for (const move of moves) {
          clock.advance(move);
          const decision = limiter.take("key", limit);
          if (decision.allowed) continue;
          expect(decision.resetSeconds).toBeGreaterThanOrEqual(1);
          expect(decision.resetSeconds).toBeLessThanOrEqual(60);
          clock.advance((decision.resetSeconds - 1) * 1000);
          expect(limiter.peek("key", limit).allowed).toBe(false);
          clock.advance(1000);
          expect(limiter.peek("key", limit).allowed).toBe(true);
        }
      }),
    );
  });

  it("has its whole capacity back 60 s after the last request", () => {
    const clock = createTestClock();
    const limiter = createMemoryRateLimiter(clock);
    for (let request = 0; request < 100; request++) {
      limiter.take("key", 60);
      clock.advance(10);
    }
    clock.advance(WINDOW);
    expect(limiter.peek("key", 60)).toEqual({ allowed: true, limit: 60, remaining: 60, resetSeconds: 0 });
  });

  it("keeps what it counted when the limit changes, up or down and back", () => {
    const change = fc.record({ move: fc.nat(5_000), limit: fc.integer({ min: 1, max: 30 }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
        const clock = createTestClock();
        const limiter = createMemoryRateLimiter(clock);
        const allowed: number[] = [];
        for (const { move, limit } of changes) {
          clock.advance(move);
          const inWindow = allowed.filter((instant) => instant > clock() - WINDOW);
          const decision = limiter.take("key", limit);
          expect(decision.allowed).toBe(inWindow.length < limit);
          expect(decision.remaining).toBe(Math.max(0, limit - inWindow.length - (decision.allowed ? 1 : 0)));
          if (decision.allowed) allowed.push(clock());
          else {
            // Room for one more is there once all but limit - 1 of those counted have left.
            const leaves = inWindow[inWindow.length - limit]! + WINDOW;
            expect(decision.resetSeconds).toBe(Math.ceil((leaves - clock()) / 1000));
          }
        }
      }),
    );
  });

  it("locks nobody out for longer than a window when the clock is set back", () => {
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 100_000_000 }),
        (moves, limit, back) => {
          const clock = createTestClock();
          const limiter = createMemoryRateLimiter(clock);
          for (const move of moves) {
            clock.advance(move % 1000);
            limiter.take("key", limit);
          }
          clock.advance(-back);
          expect(limiter.peek("key", limit).resetSeconds).toBeLessThanOrEqual(60);
          clock.advance(WINDOW);
          expect(limiter.take("key", limit).allowed).toBe(true);
        },
      ),
    );
  });

  it("counts each key for itself", () => {
    const limiter = createMemoryRateLimiter(createTestClock());
    expect(limiter.take("one", 1).allowed).toBe(true);
    expect(limiter.take("one", 1).allowed).toBe(false);
    expect(limiter.take("other", 1).allowed).toBe(true);
  });

  it("counts nothing when it is only asked", () => {
    const limiter = createMemoryRateLimiter(createTestClock());
    for (let repeat = 0; repeat < 5; repeat++) expect(limiter.peek("key", 2).remaining).toBe(2);
  });

  it("forgets nothing that counts when it sweeps", () => {
    const clock = createTestClock();
    const limiter = createMemoryRateLimiter(clock);
    limiter.take("key", 2);
    clock.advance(59_000);
    limiter.sweep();
    expect(limiter.peek("key", 2).remaining).toBe(1);
    clock.advance(1_000);
    limiter.sweep();
    expect(limiter.peek("key", 2).remaining).toBe(2);
  });
});
