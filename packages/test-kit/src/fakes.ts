import { randomFillSync } from "node:crypto";

/** A clock that a test moves by hand. Called, it gives milliseconds since 1970. */
export interface TestClock {
  (): number;
  /** Moves the clock forward (or, with a negative number, back) by milliseconds. */
  advance(milliseconds: number): void;
}

/** @param start the clock's first time: an instant in RFC 3339 */
export function createTestClock(start = "2026-06-01T12:00:00.000Z"): TestClock {
  let now = Date.parse(start);
  return Object.assign(() => now, {
    advance: (milliseconds: number) => void (now += milliseconds),
  });
}

/**
 * Returns a source of ids that count up, so that a failing test is easy to read. The bytes for secrets are still random;
 * `random()` is always 0.5.
 */
export function createTestIds() {
  let made = 0;
  return {
    next: (prefix: string) => `${prefix}_${String(++made).padStart(6, "0")}`,
    randomBytes: (bytes: number) => randomFillSync(new Uint8Array(bytes)),
    random: () => 0.5,
  };
}
