import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { answers, openHarness, query, type Harness, until } from "../test/embedded-postgres.harness.ts";
import { dataOf } from "./cluster.ts";
import { findPostmaster } from "./postmaster.ts";
import { delayAfter } from "./supervisor.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await openHarness({ enterable: true, survivorSeconds: 0 });
});
afterEach(() => harness.clear());

const isRunning = async () => (await findPostmaster(dataOf(await harness.home()))) !== undefined;

/** Returns how many processes wait for the end of a user, or stop PostgreSQL after it. */
async function watchers(): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(join(harness.dataDir, "postgresql.users"))).length;
}

it.runIf(process.platform === "linux")(
  "of a service that was killed ends by itself, in order, and the next start finds its rows",
  async () => {
    const first = await harness.startUser();
    await query(first.connectionString, "create table kept as select 1 as one");
    await first.kill();
    await until(async () => !(await isRunning()));
    const second = await harness.startUser();
    expect(second.events).toContain("started");
    expect(await query(second.connectionString, "select one from kept")).toEqual([{ one: 1 }]);
    const log = join(dataOf(await harness.home()), "log");
    const texts = await Promise.all((await readdir(log)).map((name) => readFile(join(log, name), "utf8")));
    expect(texts.join("")).not.toContain("was not properly shut down");
    await second.close();
    await until(async () => (await watchers()) === 0);
  },
);

it.runIf(process.platform === "linux")("stays for whoever shares it", async () => {
  const killed = await harness.startUser();
  const other = await harness.startUser();
  expect(await watchers()).toBe(2);
  await killed.kill();
  await until(async () => (await watchers()) === 1);
  expect(await answers(other.connectionString)).toBe(true);
  await other.close();
  expect(await isRunning()).toBe(false);
});

it("waits longer after each failed restart, 10 s at most", () => {
  expect([1, 2, 3, 8, 50].map(delayAfter)).toEqual([100, 200, 400, 10_000, 10_000]);
});
