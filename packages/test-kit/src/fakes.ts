import { randomFillSync } from "node:crypto";

/** A clock that a test moves by hand. Called, it gives milliseconds since 1970. */
export interface TestClock {
  (): number;
  /** Moves the clock forward (or, with a negative number, back) by milliseconds. */
  advance(milliseconds: number): void;
}

/** @param start what the clock shows at first: an instant in RFC 3339 */
export function createTestClock(start = "2026-06-01T12:00:00.000Z"): TestClock {
  let now = Date.parse(start);
  return Object.assign(() => now, {
    advance: (milliseconds: number) => void (now += milliseconds),
  });
}

/** Identifiers that count up, so that a failing test reads well. Secrets are random all the same. */
export function createTestIds() {
  let made = 0;
  return {
    next: (prefix: string) => `${prefix}_${String(++made).padStart(6, "0")}`,
    randomBytes: (bytes: number) => randomFillSync(new Uint8Array(bytes)),
    random: () => 0.5,
  };
}
