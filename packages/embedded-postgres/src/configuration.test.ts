import { expect, it } from "vitest";
import { canHaveSocket, fixedSettings, renderSettings } from "./configuration.ts";

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
  const settings = fixedSettings(5432, isDurable);
  for (const name of ["fsync", "full_page_writes", "synchronous_commit"])
    expect(settings).toContain(`${name}=${value}`);
});

it.each([
  ["/dev/shm/tests/postgresql/data", true],
  [`/${"d".repeat(87)}`, true],
  [`/${"d".repeat(88)}`, false],
  ["/tmp/one, two", false],
  ["/tmp/it's", false],
])("makes a Unix socket in %s only where it can: %s", (directory, expected) => {
  expect(canHaveSocket(directory, 20_000)).toBe(expected);
});
