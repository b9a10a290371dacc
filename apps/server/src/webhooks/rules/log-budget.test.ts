import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ANSWER_SUMMARY, DAILY_ANSWER_BYTES, sizeOfAnswer, WHOLE_FAILURES_PER_HOUR } from "../rules/log-budget.ts";
import { type ChangedSize, LogMeter } from "./log-budget.ts";

const NOON = Date.parse("2026-06-01T12:00:00.000Z");
const HOUR = 3_600_000;
const KIB = 1024;

const noise = (bytes: number) => new Uint8Array(bytes).fill(120);
const plain = [["Content-Type", "text/plain"]] as const;
/** The largest response that the sender reads. */
const largest = {
  headers: Array.from({ length: 16 }, (_, i) => [`X-${i}`.padEnd(20, "n"), "v".repeat(1_000)] as const),
  body: noise(64 * KIB),
};
const attempt = (
  isSuccess: boolean,
  endedAt = NOON,
  answer: { headers: typeof plain | typeof largest.headers; body: Uint8Array } = largest,
) => ({
  isSuccess,
  endedAt,
  requestBytes: 1_000,
  answer,
});

test("of a success 2 KiB of headers and of the body are kept, and a shorter answer whole", () => {
  const meter = new LogMeter();
  const kept = meter.keep(attempt(true));
  expect([kept.body.length, kept.headers.length, kept.truncationReason]).toEqual([2 * KIB, 2, "success"]);
  expect(kept.body.buffer.byteLength).toBe(2 * KIB);
  const short = { headers: plain, body: noise(2 * KIB) };
  expect(meter.keep(attempt(true, NOON, short))).toEqual({ ...short, truncationReason: null });
});

test("the first failures of an hour are kept whole, the others like a success, and the next hour begins anew", () => {
  const meter = new LogMeter();
  const lengths = (at: number) =>
    Array.from({ length: WHOLE_FAILURES_PER_HOUR + 2 }, () => meter.keep(attempt(false, at)).body.length / KIB);
  expect(lengths(NOON)).toEqual([64, 64, 64, 64, 64, 2, 2]);
  expect(meter.keep(attempt(false, NOON)).truncationReason).toBe("repeated_failure");
  expect(lengths(NOON + HOUR)).toEqual([64, 64, 64, 64, 64, 2, 2]);
});

test("short answers never use up the day's budget, however many they are", () => {
  const meter = new LogMeter();
  const short = { headers: plain, body: noise(100) };
  for (let i = 0; i < 1_000; i++) meter.keep(attempt(true, NOON, short));
  expect(meter.changed()).toEqual([{ day: "2026-06-01", bytes: 1_000 * (1_000 + 126), answerBytes: 0 }]);
});

test("once a day's budget is used up a summary is kept, until the day is over", () => {
  const meter = new LogMeter();
  meter.resume("2026-06-01", { bytes: DAILY_ANSWER_BYTES, answerBytes: DAILY_ANSWER_BYTES });
  const answer = { headers: [...plain, ...largest.headers], body: noise(10) };
  const kept = meter.keep({ ...attempt(false), answer });
  expect(kept).toEqual({ headers: plain, body: new Uint8Array(), truncationReason: "daily_budget" });
  expect(meter.keep(attempt(false, NOON + 12 * HOUR)).truncationReason).toBeNull();
});

describe("whatever a receiver answers", () => {
  const answer = fc.record({
    headers: fc.array(
      fc.tuple(
        fc.string({ maxLength: 20 }),
        fc.nat(2_000).map((length) => "v".repeat(length)),
      ),
      { maxLength: 8 },
    ),
    body: fc.oneof(fc.nat(300), fc.nat(64 * KIB)).map(noise),
  });
  const attempts = fc.array(
    fc.record({ isSuccess: fc.boolean(), gap: fc.nat(600_000), answer, repeat: fc.integer({ min: 1, max: 60 }) }),
    { minLength: 1, maxLength: 30 },
  );

  test("a day keeps no more than its budget, one answer, and a summary of each; what is counted is what is kept", () => {
    let exhausted = 0;
    fc.assert(
      fc.property(attempts, (drawn) => {
        const meter = new LogMeter();
        const used = DAILY_ANSWER_BYTES - 200 * KIB;
        meter.resume("2026-06-01", { bytes: used, answerBytes: used });
        const kept = new Map<string, { bytes: number; attempts: number }>();
        let endedAt = NOON;
        for (const { isSuccess, gap, answer: given, repeat } of drawn) {
          endedAt += gap;
          for (let i = 0; i < repeat; i++) {
            const entry = meter.keep({ isSuccess, endedAt, requestBytes: 7, answer: given });
            const day = new Date(endedAt).toISOString().slice(0, 10);
            const before = kept.get(day) ?? { bytes: 0, attempts: 0 };
            kept.set(day, { bytes: before.bytes + sizeOfAnswer(entry), attempts: before.attempts + 1 });
            // Cut if and only if something is missing, and what is kept is a beginning.
            expect(entry.truncationReason !== null).toBe(sizeOfAnswer(entry) < sizeOfAnswer(given));
            if (entry.truncationReason === "daily_budget") exhausted++;
          }
        }
        for (const [day, { bytes, attempts: made }] of kept) {
          const [before, left] = day === "2026-06-01" ? [used, 200 * KIB] : [0, DAILY_ANSWER_BYTES];
          expect(bytes).toBeLessThanOrEqual(left + 84 * KIB + made * ANSWER_SUMMARY.headBytes);
          const size = meter.changed().find((changed) => changed.day === day);
          expect(size?.bytes).toBe(before + bytes + 7 * made);
        }
      }),
      { numRuns: 100, seed: 3 },
    );
    // Enough of the random cases must exhaust the budget, or the test shows nothing.
    expect(exhausted).toBeGreaterThan(100);
  });
});

test("what is written is what changed, days that are over are forgotten, and growth meanwhile is not lost", () => {
  const meter = new LogMeter();
  const days = (sizes: readonly ChangedSize[]) => sizes.map(({ day }) => day);
  meter.keep(attempt(true));
  const first = meter.changed();
  meter.keep(attempt(true));
  meter.noteWritten(first, "2026-06-01");
  expect(days(meter.changed())).toEqual(["2026-06-01"]);
  meter.keep(attempt(true, NOON + 12 * HOUR));
  expect(days(meter.changed())).toEqual(["2026-06-01", "2026-06-02"]);
  meter.noteWritten(meter.changed(), "2026-06-02");
  expect(meter.changed()).toEqual([]);
});
