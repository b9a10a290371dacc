import { expect, it } from "vitest";
import { renderSettings } from "./configuration.ts";

const GiB = 1024 ** 3;

it.each([
  [0.25, "64MB"],
  [4, "512MB"],
  [24, "3072MB"],
  [256, "4096MB"],
])("gives PostgreSQL an eighth of %d GiB within its bounds", (gigabytes, expected) => {
  expect(renderSettings(gigabytes * GiB)).toContain(`shared_buffers = ${expected}\n`);
});
