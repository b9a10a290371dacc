import { afterEach, beforeEach, expect, it } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerDistribute } from "./distribute.ts";

let harness: CliHarness;
beforeEach(async () => {
  harness = await openCliHarness({ register: registerDistribute, clock: () => 0 });
});
afterEach(() => harness.close());

it("says what is missing where Citus is not there, and changes nothing, dry or not", async () => {
  for (const options of [[], ["--dry-run"], ["--json"]]) {
    const failure = await harness.run("distribute", ...options).catch((error: unknown) => error);
    const { message } = failure as Error;
    expect(message).toMatch(/^This database cannot be distributed yet:\n- The extension citus is not installed/);
    expect(message).toMatch(/\n- .* shared_preload_libraries .* restart PostgreSQL/);
    expect(harness.written.stdout).toBe("");
  }
});
