import { expect, it } from "vitest";
import { renderSettings } from "./settings.ts";
import { delayAfter } from "./supervisor.ts";

const GiB = 1024 ** 3;

it.each([
  [0.25, "64MB"],
  [4, "512MB"],
  [24, "3072MB"],
  [256, "4096MB"],
])("gives PostgreSQL an eighth of %d GiB within its bounds", (gigabytes, expected) => {
  expect(renderSettings(gigabytes * GiB)).toContain(`shared_buffers = ${expected}\n`);
});

it("waits longer after each failed restart, 10 s at most", () => {
  expect([1, 2, 3, 8, 50].map(delayAfter)).toEqual([100, 200, 400, 10_000, 10_000]);
});
