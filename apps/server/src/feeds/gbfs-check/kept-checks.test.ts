import type { FeedReport } from "@bikeshare/contract/console";
import { createTestClock } from "@bikeshare/test-kit";
import { expect, it } from "vitest";
import { KeptChecks } from "./kept-checks.ts";

it("a result that somebody still asks for stays, however many others are checked", async () => {
  const clock = createTestClock();
  const checks = new KeptChecks(clock);
  const checked: string[] = [];
  const check = (systemId: string) =>
    checks.get(systemId, "", "state", () => {
      checked.push(systemId);
      return Promise.resolve({} as FeedReport);
    });
  await check("viewed");
  await check("left");
  for (let n = 0; n < 49; n++) {
    await check(`other-${n}`);
    await check("viewed");
  }
  expect(checked).toHaveLength(51);
  await check("left");
  expect(checked.at(-1)).toBe("left");
});

it("a result that was checked anew is the newest", async () => {
  const clock = createTestClock();
  const checks = new KeptChecks(clock);
  let runs = 0;
  const check = (systemId: string, state = "") =>
    checks.get(systemId, "", state, () => Promise.resolve({ run: ++runs } as unknown as FeedReport));
  await check("viewed");
  for (let n = 0; n < 49; n++) await check(`other-${n}`);
  const anew = await check("viewed", "changed");
  await check("one more");
  expect(await check("viewed", "changed")).toBe(anew);
});
