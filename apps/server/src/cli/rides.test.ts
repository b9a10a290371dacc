import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { upsertBikes } from "../city/fleet/bike-commands.ts";
import { startRides } from "../city/fleet/start-rides.ts";
import { createIds } from "../ids.ts";
import { registerCheck } from "./check.ts";
import { registerRides } from "./fleet.ts";

let harness: CliHarness;
const clock = createTestClock();

beforeAll(async () => {
  harness = await openCliHarness({
    clock,
    register: (program, context) => {
      registerRides(program, context);
      registerCheck(program, context);
    },
  });
});
afterAll(() => harness.close());

async function startRidesOf(...bikes: readonly string[]) {
  const context = { db: harness.db, clock, ids: createIds(clock) };
  await upsertBikes(
    context,
    "main",
    bikes.map((id) => ({ item: { id } })),
  );
  await startRides(
    context,
    "main",
    bikes.map((id) => ({ item: { id: `ride-${id}`, bike_id: id } })),
  );
}

test("rides that nobody ended are listed by check and ended, one by its id or all after a confirmation", async () => {
  await startRidesOf("a", "b", "c");
  clock.advance(25 * 3_600_000);
  const before = await harness.run("check");
  expect(before.stdout).toContain("Under way for longer than LONG_RIDE_AFTER: ride-a of bike a");
  expect((await harness.run("rides", "end", "ride-a")).stdout).toMatch(/^ride-a +ended$/m);
  await expect(harness.run("rides", "end", "--older-than", "24h")).rejects.toThrow("Add --yes to do it.");
  expect((await harness.run("rides", "end", "--older-than", "24h", "--yes")).stdout).toMatch(/^ride-c +ended$/m);
  expect((await harness.run("check")).stdout).not.toContain("Under way");
});

test("a duration ago counts by the database's clock: a machine whose clock is ahead ends no ride that is still young", async () => {
  await startRidesOf("d");
  clock.advance(3_600_000);
  harness.machine.aheadMs = 24 * 3_600_000;
  const { stdout } = await harness.run("rides", "end", "--older-than", "24h", "--yes");
  expect(stdout).toBe("No such ride is under way.\n");
});
