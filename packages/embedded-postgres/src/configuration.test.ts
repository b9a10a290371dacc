import { expect, it } from "vitest";
import { fixedSettings, renderSettings } from "./configuration.ts";

const GiB = 1024 ** 3;

it.each([
  [0.25, "64MB"],
  [4, "512MB"],
  [24, "3072MB"],
  [256, "4096MB"],
])("gives PostgreSQL an eighth of %d GiB within its bounds", (gigabytes, expected) => {
  expect(renderSettings(gigabytes * GiB)).toContain(`shared_buffers = ${expected}\n`);
});

it.each([
  [true, "on"],
  [false, "off"],
])("waits for the disk where rows must survive a power cut (%s), and only there", (isDurable, value) => {
  const settings = fixedSettings(5432, isDurable, "/data");
  for (const name of ["fsync", "full_page_writes", "synchronous_commit"])
    expect(settings).toContain(`${name}=${value}`);
});
