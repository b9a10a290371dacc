import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { answers, openRoom, query, type Room, until } from "./embedded-room.fixture.ts";
import { dataOf } from "./home.ts";
import { findPostmaster } from "./postmaster.ts";

let room: Room;
beforeEach(async () => {
  room = await openRoom({ enterable: true, survivorSeconds: 0 });
});
afterEach(() => room.clear());

const isRunning = async () => (await findPostmaster(dataOf(await room.home()))) !== undefined;

/** How many wait for the end of a user, or act on it. */
async function watchers(): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(join(room.dataDir, "postgresql.users"))).length;
}

it.runIf(process.platform === "linux")(
  "of a service that was killed ends by itself, in order, and the next start finds its rows",
  async () => {
    const first = await room.startUser();
    await query(first.connectionString, "create table kept as select 1 as one");
    await first.kill();
    await until(async () => !(await isRunning()));
    const second = await room.startUser();
    expect(second.events).toContain("started");
    expect(await query(second.connectionString, "select one from kept")).toEqual([{ one: 1 }]);
    const log = join(dataOf(await room.home()), "log");
    const texts = await Promise.all((await readdir(log)).map((name) => readFile(join(log, name), "utf8")));
    expect(texts.join("")).not.toContain("was not properly shut down");
    await second.close();
    await until(async () => (await watchers()) === 0);
  },
);

it.runIf(process.platform === "linux")("stays for whoever shares it", async () => {
  const killed = await room.startUser();
  const other = await room.startUser();
  expect(await watchers()).toBe(2);
  await killed.kill();
  await until(async () => (await watchers()) === 1);
  expect(await answers(other.connectionString)).toBe(true);
  await other.close();
  expect(await isRunning()).toBe(false);
});
