import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { loadSecrets } from "../storage/secrets/secrets.ts";
import { registerSecrets } from "./maintenance.ts";

let harness: CliHarness;

beforeAll(async () => {
  const resolveSystem = () => Promise.reject(new Error("There are several systems: say which with --system."));
  harness = await openCliHarness({
    clock: createTestClock(),
    register: (program, cli) => registerSecrets(program, () => ({ ...cli(), resolveSystem })),
  });
});
afterAll(() => harness.close());

test("`secrets rotate` and `remove-old-keys` work on the whole deployment, and ask for no system where there are several", async () => {
  await loadSecrets(join(harness.directory, "data", "secrets.json"), randomBytes);
  const rotated = JSON.parse((await harness.run("--json", "secrets", "rotate")).stdout) as object;
  expect(rotated).toMatchObject({ reencrypted: 0, unreadable: 0 });
  const removed = await harness.run("--json", "secrets", "remove-old-keys", "--now");
  expect(JSON.parse(removed.stdout)).toEqual({ removed: 2 });
});
