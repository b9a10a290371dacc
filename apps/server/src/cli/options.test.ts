import { expect, it } from "vitest";
import { duration } from "../runtime/startup/values.ts";
import { readValue, UsageError } from "./options.ts";

it("reads durations within their bounds, and throws a usage error for others", () => {
  const overlap = (text: string) => readValue("--overlap", text, duration("1h", "30d"));
  expect(overlap("60m")).toBe(3_600_000);
  expect(overlap("720h")).toBe(30 * 86_400_000);
  for (const wrong of ["59m", "0s", "31d", "721h", "", "1", "-1h", "1.5h", "1w", " 1h"]) {
    expect(() => overlap(wrong)).toThrow(
      new UsageError(`--overlap is "${wrong}": it must be a duration from 1h to 30d, such as 30s, 15m, 24h or 7d.`),
    );
  }
});
