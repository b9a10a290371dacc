import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  answers,
  killPostmaster,
  openHarness,
  query,
  type Harness,
  until,
  type User,
} from "../test/embedded-postgres.harness.ts";
import { dataOf } from "./cluster.ts";
import { findPostmaster, pidFileOf } from "./postmaster.ts";

let harness: Harness;
/** A harness whose cluster one user has made and closed. Tests copy it. */
let made: Harness;
beforeAll(async () => {
  made = await openHarness({ enterable: true });
  const user = await made.startUser();
  await user.close();
});
afterAll(() => made.clear());
beforeEach(async () => {
  harness = await openHarness({ enterable: true });
});
afterEach(() => harness.clear());

const did = (user: User, event: string) => user.events.includes(event);
const postmaster = async () => findPostmaster(dataOf(await harness.home()));

describe("one user", () => {
  it("gets an empty database named bikeshare with checksums, UTF-8 and durable writes, and not as a superuser", async () => {
    const user = await harness.startUser();
    const [row] = await query(
      user.connectionString,
      `select current_database() as database, current_setting('data_checksums') as checksums, current_setting('server_encoding') as encoding,
        current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits, current_setting('full_page_writes') as pages,
        current_setting('listen_addresses') as address, current_setting('unix_socket_directories') as sockets, current_setting('jit') as jit,
        (select datlocale from pg_database where datname = 'bikeshare') as locale, (select rolsuper from pg_roles where rolname = current_user) as super`,
    );
    expect(row).toEqual({
      database: "bikeshare",
      checksums: "on",
      encoding: "UTF8",
      fsync: "on",
      commits: "on",
      pages: "on",
      address: "127.0.0.1",
      sockets: "",
      jit: "off",
      locale: "C.UTF-8",
      super: false,
    });
  });

  it("leaves no PostgreSQL behind when it closes, and finds its rows again afterwards", async () => {
    await harness.copyFrom(made);
    const first = await harness.startUser();
    await query(first.connectionString, "create table kept as select 1 as one");
    await first.close();
    expect(await postmaster()).toBeUndefined();
    expect(await answers(first.connectionString)).toBe(false);
    const second = await harness.startUser();
    expect(second.connectionString).toBe(first.connectionString);
    expect(await query(second.connectionString, "select one from kept")).toEqual([{ one: 1 }]);
  });

  it("keeps the passwords in a file that only its owner may read", async () => {
    await harness.startUser();
    const { mode, uid } = await stat(join(await harness.home(), "connection.json"));
    expect(mode & 0o777).toBe(0o600);
    expect(uid).toBe(process.geteuid?.());
    expect((await stat(dataOf(await harness.home()))).mode & 0o777).toBe(0o700);
    expect((await stat(join(harness.dataDir, "postgresql.lock"))).mode & 0o777).toBe(0o600);
  });

  it("takes another port when its own is taken", async () => {
    await harness.copyFrom(made);
    const first = await harness.startUser();
    await first.close();
    const port = Number(new URL(first.connectionString).port);
    const squatter = spawn(process.execPath, [
      "-e",
      `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`,
    ]);
    try {
      await once(squatter.stdout, "data");
      const second = await harness.startUser();
      expect(did(second, "port_taken")).toBe(true);
      expect(second.connectionString).not.toBe(first.connectionString);
      expect(await answers(second.connectionString)).toBe(true);
    } finally {
      squatter.kill("SIGKILL");
    }
  });
});

describe("several users of one directory", () => {
  it("create one cluster when they start at once on an empty directory, and the last to close stops it", async () => {
    const users = await Promise.all([harness.startUser(), harness.startUser(), harness.startUser()]);
    const [first, second, third] = users;
    if (!first || !second || !third) throw new Error("three users were started");
    expect(new Set(users.map((user) => user.connectionString)).size).toBe(1);
    expect(users.filter((user) => did(user, "cluster_created"))).toHaveLength(1);
    expect(users.filter((user) => did(user, "started"))).toHaveLength(1);
    const starter = users.find((user) => did(user, "started")) ?? first;
    await starter.close();
    const [other, last] = users.filter((user) => user !== starter);
    if (!other || !last) throw new Error("two users remain");
    expect(await answers(other.connectionString)).toBe(true);
    await other.close();
    expect(await answers(last.connectionString)).toBe(true);
    await last.close();
    expect(await answers(last.connectionString)).toBe(false);
  });

  it("do not count one another when killed: the survivor stops the server", async () => {
    await harness.copyFrom(made);
    const first = await harness.startUser();
    const second = await harness.startUser();
    await first.kill();
    expect(await answers(second.connectionString)).toBe(true);
    await second.close();
    expect(await postmaster()).toBeUndefined();
  });
});

describe("after crashes", () => {
  it("joins the PostgreSQL that a killed user left running, and stops it on its clean close", async () => {
    await harness.copyFrom(made);
    const killed = await harness.startUser();
    await killed.kill();
    const orphan = await postmaster();
    expect(orphan).toBeDefined();
    const next = await harness.startUser();
    expect(did(next, "joined")).toBe(true);
    expect((await postmaster())?.pid).toBe(orphan?.pid);
    await next.close();
    expect(await postmaster()).toBeUndefined();
  });

  it("starts over the pid file of a dead PostgreSQL, also when an unrelated process got its number", async () => {
    await harness.copyFrom(made);
    const killed = await harness.startUser();
    await killed.kill();
    const pid = await killPostmaster(await harness.home());
    const file = pidFileOf(dataOf(await harness.home()));
    const left = await readFile(file, "utf8");
    const second = await harness.startUser();
    await second.kill();
    await killPostmaster(await harness.home());
    const { uid, gid } = await stat(dataOf(await harness.home()));
    // PostgreSQL takes only a process of its own account for a server.
    const unrelated = spawn("/bin/sleep", ["600"], process.geteuid?.() === 0 ? { uid, gid } : {});
    try {
      await writeFile(file, left.replace(String(pid), String(unrelated.pid)));
      const third = await harness.startUser();
      expect(did(third, "stale_pid_file_removed")).toBe(true);
      expect(await answers(third.connectionString)).toBe(true);
      await third.close();
      expect(unrelated.exitCode).toBeNull();
      expect(unrelated.signalCode).toBeNull();
    } finally {
      unrelated.kill("SIGKILL");
    }
  });

  it("clears what a kill in the middle of initdb left", async () => {
    const half = join(harness.dataDir, "postgresql.partial-killed");
    await mkdir(join(half, "data", "base"), { recursive: true });
    const user = await harness.startUser();
    expect(await answers(user.connectionString)).toBe(true);
    await expect(stat(half)).rejects.toThrow("ENOENT");
  });

  it.each([
    ["initdb", "postgresql.partial-"],
    ["the first start", "postgresql"],
  ])("survives a user killed during %s", async (_phase, name) => {
    const isInPhase = async () =>
      (await namesIn(harness.dataDir)).some((found) => (name.endsWith("-") ? found.startsWith(name) : found === name));
    while (await startsBeforeKill(isInPhase)) {
      // A busy machine can miss the phase: start again from the beginning.
      await harness.clear();
      harness = await openHarness({ enterable: true });
    }
    const next = await harness.startUser();
    expect(await answers(next.connectionString)).toBe(true);
    await next.close();
    expect((await namesIn(harness.dataDir)).sort()).toEqual(["postgresql", "postgresql.lock", "postgresql.users"]);
  });

  it("brings a killed PostgreSQL back on the same port for every user, each time", async () => {
    await harness.copyFrom(made);
    const first = await harness.startUser();
    const second = await harness.startUser();
    for (let round = 0; round < 3; round += 1) {
      const killed = await killPostmaster(await harness.home());
      await until(() => answers(first.connectionString));
      expect((await postmaster())?.pid).not.toBe(killed);
    }
    await first.close();
    await killPostmaster(await harness.home());
    await until(() => answers(second.connectionString));
    await second.close();
    expect(await postmaster()).toBeUndefined();
  });

  it("closes cleanly while PostgreSQL is being brought back", async () => {
    await harness.copyFrom(made);
    const user = await harness.startUser();
    await killPostmaster(await harness.home());
    await user.close();
    expect(await postmaster()).toBeUndefined();
  });
});

it("refuses a cluster of another major version and says what to do", async () => {
  await harness.copyFrom(made);
  await writeFile(join(dataOf(await harness.home()), "PG_VERSION"), "15\n");
  await expect(harness.startUser()).rejects.toThrow(/made by PostgreSQL 15 .* Dump it/);
});

it("refuses a cluster whose connection file is lost and says what to do", async () => {
  await harness.copyFrom(made);
  await rm(join(await harness.home(), "connection.json"));
  await expect(harness.startUser()).rejects.toThrow(/connection\.json cannot be read.*Restore it/);
});

/** Starts a user and kills it in a phase of its start. @returns whether it was ready before it was killed */
async function startsBeforeKill(isInPhase: () => Promise<boolean>): Promise<boolean> {
  let isReady = false;
  const starting = harness.startUser().then(() => (isReady = true));
  // Awaited below; until then its failure must not count as unhandled.
  starting.catch(() => undefined);
  await until(async () => isReady || (await isInPhase()));
  await harness.killUsers();
  const failure: unknown = await starting.catch((error: unknown) => error);
  if (failure !== true) expect(String(failure)).toContain("ended before it was ready");
  return isReady;
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
