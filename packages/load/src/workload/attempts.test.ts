import { expect, it } from "vitest";
import { type Attempt, figuresOf } from "./attempts.ts";

const read = (sentAt: number): Attempt => ({ kind: "read", sentAt, tookMs: 1, error: undefined });

it("finds the longest gap of a run with hundreds of thousands of requests", () => {
  const attempts = Array.from({ length: 200_000 }, (_, n) => read(n < 100_000 ? n : n + 5_000));
  expect(figuresOf(attempts).longestGapMs.read).toBe(5_001);
});
