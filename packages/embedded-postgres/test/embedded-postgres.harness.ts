import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeDatabaseDirectory } from "@bikeshare/test-kit";
import pg from "pg";
import { dataOf } from "../src/cluster.ts";
import type { Account } from "../src/operating-system.ts";
import { findPostmaster, isPostmasterOf } from "../src/postmaster.ts";

/** A child process that opened our PostgreSQL. */
export type User = {
  connectionString: string;
  pid: number;
  /** The names of the events that it logged, in order. */
  events: string[];
  close(): Promise<void>;
  kill(): Promise<void>;
};

/** One test's directories and processes; `clear()` ends and removes them all. */
export type Harness = {
  dataDir: string;
  systemDirectory: string;
  /** Copies the data directory of another harness, for tests that do not need to make a new cluster. */
  copyFrom(other: Harness): Promise<void>;
  /** Returns the directory with data/ and connection.json. */
  home(): Promise<string>;
  startUser(account?: Account): Promise<User>;
  /** Kills every user's process, ready or not. */
  killUsers(): Promise<void>;
  clear(): Promise<void>;
};

/** The free space that is needed: one test's cluster, with room for those of other tests. */
const NEEDED_BYTES = 2 * 1024 ** 3;

/** `enterable`: whether other accounts may reach the data directory, so that root's cluster can live inside it. */
export async function openHarness(options: {
  enterable: boolean;
  dataDir?: string;
  /** Long by default, because a busy machine may need long to start the next process. */
  survivorSeconds?: number;
}): Promise<Harness> {
  const root = await realpath(await makeDatabaseDirectory("embedded-", NEEDED_BYTES));
  const outside = await realpath(await mkdtemp(join(tmpdir(), "embedded-system-")));
  if (options.enterable) await chmod(root, 0o711);
  await chmod(outside, 0o711);
  const dataDir = options.dataDir ?? join(root, "data-dir");
  const systemDirectory = join(outside, "bikeshare");
  const children: ChildProcess[] = [];
  const killUsers = async () => {
    await Promise.all(children.map(killAndWait));
  };
  const home = () => findOnlyHome(dataDir, systemDirectory);
  return {
    dataDir,
    systemDirectory,
    copyFrom: async (other) => {
      // `-a` copies owners and modes too.
      await promisify(execFile)("cp", ["-a", other.dataDir, dataDir]);
    },
    home,
    startUser: (account) =>
      startUser([dataDir, systemDirectory, String(options.survivorSeconds ?? 60)], account, children),
    killUsers,
    clear: async () => {
      await killUsers();
      await killPostmaster(await home().catch(() => undefined));
      // Children of a killed PostgreSQL may still be writing.
      const retries = { maxRetries: 50, retryDelay: 100 };
      for (const directory of [root, outside]) await rm(directory, { recursive: true, force: true, ...retries });
    },
  };
}

async function findOnlyHome(dataDir: string, systemDirectory: string): Promise<string> {
  if ((await readdir(dataDir)).includes("postgresql")) return join(dataDir, "postgresql");
  const [id, ...others] = (await readdir(systemDirectory)).filter((name) => /^[0-9a-f]{24}$/.test(name));
  if (id === undefined || others.length > 0) throw new Error(`expected one home, found ${1 + others.length}`);
  return join(systemDirectory, id);
}

async function startUser(args: string[], account: Account | undefined, children: ChildProcess[]): Promise<User> {
  const program = fileURLToPath(new URL("user.process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", program, ...args], {
    ...account,
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  const events: string[] = [];
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  const connectionString = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).on("line", (text) => {
      const [word = "", value = ""] = text.split(" ");
      if (word === "event") events.push(value);
      if (word === "ready") resolve(value);
    });
    child.once("close", () => reject(new Error(`the user ended before it was ready: ${complaint}`)));
  });
  const close = async () => {
    child.stdin.write("close\n");
    await once(child, "exit");
    if (child.exitCode !== 0) throw new Error(`the user failed to close: ${complaint}`);
  };
  return { connectionString, pid: child.pid ?? 0, events, close, kill: () => killAndWait(child) };
}

async function killAndWait(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

/** Kills the PostgreSQL of `home` the hard way and returns its pid once it is gone. */
export async function killPostmaster(home: string | undefined): Promise<number | undefined> {
  const running = home === undefined ? undefined : await findPostmaster(dataOf(home));
  if (!running || home === undefined) return undefined;
  process.kill(running.pid, "SIGKILL");
  await until(async () => !(await isPostmasterOf(running.pid, dataOf(home))));
  return running.pid;
}

/**
 * Interval of checking a condition. Too low: conditions, which connect or read all processes, slow down what they wait for.
 * Too high: misses the half second in which initdb runs.
 */
const POLL_INTERVAL_MS = 50;

/** Polls until `condition` holds; throws after a minute, which is enough to start a process on a busy machine. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 60_000 / POLL_INTERVAL_MS; attempt += 1) {
    if (await condition()) return;
    await sleep(POLL_INTERVAL_MS);
  }
  throw new Error("the condition did not come true within a minute");
}

/** Runs one statement on a connection of its own. */
export async function query(
  connectionString: string,
  statement: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** Tells whether logging in succeeds. */
export async function answers(connectionString: string): Promise<boolean> {
  return query(connectionString, "select 1").then(
    () => true,
    () => false,
  );
}
