import { expect, it } from "vitest";
import { readDuration } from "./options.ts";
import { UsageError } from "./usage-error.ts";

it("takes durations within their bounds, and calls what lies outside a wrong usage", () => {
  const bounds = { least: "1h", most: "30d" };
  expect(readDuration("--overlap", "60m", bounds)).toBe(3_600_000);
  expect(readDuration("--overlap", "720h", bounds)).toBe(30 * 86_400_000);
  for (const outside of ["59m", "0s", "31d", "721h"]) {
    expect(() => readDuration("--overlap", outside, bounds)).toThrow(
      new UsageError("--overlap must be from 1h to 30d."),
    );
  }
  for (const wrong of ["", "1", "-1h", "1.5h", "1w", " 1h"]) {
    expect(() => readDuration("--overlap", wrong, bounds)).toThrow(
      new UsageError("--overlap must be a duration such as 30s, 15m, 24h or 7d."),
    );
  }
});
