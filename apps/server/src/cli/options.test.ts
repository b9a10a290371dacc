import { expect, it } from "vitest";
import { readDuration } from "./options.ts";
import { UsageError } from "./usage-error.ts";

it("takes durations within their bounds, and calls what lies outside a wrong usage", () => {
  expect(readDuration("--overlap", "60m", "1h", "30d")).toBe(3_600_000);
  expect(readDuration("--overlap", "720h", "1h", "30d")).toBe(30 * 86_400_000);
  for (const wrong of ["59m", "0s", "31d", "721h", "", "1", "-1h", "1.5h", "1w", " 1h"]) {
    expect(() => readDuration("--overlap", wrong, "1h", "30d")).toThrow(
      new UsageError("--overlap must be a duration from 1h to 30d, such as 30s, 15m, 24h or 7d."),
    );
  }
});
