import { expect, test } from "vitest";
import { lockWaitMs } from "./lock-wait.rules.ts";

const autovacuum = { isAutovacuum: true, seconds: null };
const request = { isAutovacuum: false, seconds: 0 };
const report = { isAutovacuum: false, seconds: 40 };
const settings = { lockTimeoutMs: 200, deadlockTimeoutMs: 1_000 };
const waits = (holders: readonly (typeof autovacuum | typeof request)[], attempts: readonly number[]) =>
  attempts.map((attempt) => lockWaitMs({ ...settings, attempt, holders }));

test("a few attempts wait long enough for PostgreSQL to end an autovacuum that is in the way", () => {
  expect(waits([autovacuum, request], [1, 2, 3, 4, 5, 7, 8, 12, 16])).toEqual([
    200, 200, 200, 1_300, 200, 200, 1_300, 200, 1_300,
  ]);
});

test("nobody waits for longer where that ends nothing", () => {
  expect(waits([], [4])).toEqual([200]);
  expect(waits([request], [4])).toEqual([200]);
  expect(waits([autovacuum, report], [4])).toEqual([200]);
  expect(lockWaitMs({ ...settings, deadlockTimeoutMs: 10_000, attempt: 4, holders: [autovacuum] })).toBe(200);
});
