import { expect, test } from "vitest";
import { isOlder } from "./compatibility.rules.ts";

test.each([
  ["1.9.9", true],
  ["0.99.99", true],
  ["1.10.0", false],
  ["1.10.1", false],
  ["2.0.0-rc.1", false],
])("version %s comes before 1.10.0: %s", (version, isBefore) => {
  expect(isOlder(version, "1.10.0")).toBe(isBefore);
});
