import { expect, it } from "vitest";
import { readRetryAfter } from "./errors.ts";

type Header = Parameters<typeof readRetryAfter>[0][number];
const now = Date.parse("2026-01-01T00:00:00Z");
const read = (...headers: Header[]) => readRetryAfter(headers, () => now);

it("reads seconds", () => {
  expect(read(["Retry-After", "120"])).toBe(120_000);
  expect(read(["retry-after", " 0 "])).toBe(0);
  expect(read(["Retry-After", "9".repeat(400)])).toBe(365 * 24 * 3600 * 1000);
});

it("reads a date, counted from the answer's own Date and else from ours", () => {
  const date: Header = ["Retry-After", "Thu, 01 Jan 2026 00:10:00 GMT"];
  expect(read(date)).toBe(600_000);
  expect(read(date, ["Date", "Thu, 01 Jan 2026 00:09:00 GMT"])).toBe(60_000);
  expect(read(date, ["Date", "Thu, 01 Jan 2026 00:11:00 GMT"])).toBe(0);
  expect(readRetryAfter([date], undefined)).toBeNull();
});

it.each(["", "soon", "-1", "1.5", "2026-01-01", "Thu, 01 Jan 2026", "Thu, 32 Jan 2026 00:00:00 GMT", "1e3"])(
  "takes %j for no wish",
  (value) => {
    expect(read(["Retry-After", value])).toBeNull();
  },
);

it("finds no wish in an answer without one", () => {
  expect(read(["Content-Type", "text/plain"])).toBeNull();
});
