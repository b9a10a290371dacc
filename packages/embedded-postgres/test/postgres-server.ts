import { type ChildProcess, spawn } from "node:child_process";
import { chown, copyFile, mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { program } from "../src/binaries.ts";
import { dataOf } from "../src/cluster.ts";
import { fixedSettings, readConnection, SUPERUSER } from "../src/configuration.ts";
import { type Account, systemCode } from "../src/operating-system.ts";
import { readPidFile } from "../src/postmaster.ts";

/** A PostgreSQL server for one test. Only the test starts and stops it. */
export interface PostgresServer {
  readonly port: number;
  /** Runs one statement as the superuser, on a connection of its own. */
  run<Row = Record<string, unknown>>(statement: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Returns when it takes connections. */
  start(): Promise<void>;
  /** Ends it as `pg_ctl stop -m fast` does. */
  stop(): Promise<void>;
  /** Ends it by SIGKILL, its children with it: what it has not written is lost. */
  kill(): Promise<void>;
  /** Pauses all processes of the server (SIGSTOP) until `thaw`, as an overloaded machine does. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** The files of a server and the account that it runs as. `home` is a directory that `createCluster` has made. */
export interface ServerFiles {
  readonly home: string;
  readonly port: number;
  readonly binaries: string;
  readonly account: Account | undefined;
}

export async function createServer({ home, port, binaries, account }: ServerFiles): Promise<PostgresServer> {
  const data = dataOf(home);
  const { superuserPassword } = await readConnection(home);
  let running: ChildProcess | undefined;

  const endBy = async (signal: "SIGINT" | "SIGKILL") => {
    if (running === undefined) return;
    const children = await childrenOf(running.pid);
    const ended = hasEnded(running);
    running.kill(signal);
    await ended;
    // Children end by themselves when their parent is gone, but until then PostgreSQL refuses to start.
    for (const pid of children) signalProcess(pid, "SIGKILL");
    await Promise.all(children.map(untilGone));
    running = undefined;
  };
  const signalAll = async (signal: "SIGSTOP" | "SIGCONT") => {
    for (const pid of [running?.pid, ...(await childrenOf(running?.pid))]) if (pid) signalProcess(pid, signal);
  };
  return {
    port,
    run: (statement, values) => runAlone(superuserUrl(port, superuserPassword), statement, values),
    start: async () => {
      running = await startPostgres({ data, port, binaries, account, logFile: join(home, "start.log") });
    },
    stop: () => endBy("SIGINT"),
    kill: () => endBy("SIGKILL"),
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
  };
}

function superuserUrl(port: number, password: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

async function runAlone<Row>(
  connectionString: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query(statement, [...values])).rows as Row[];
  } finally {
    await client.end();
  }
}

async function startPostgres(server: {
  readonly data: string;
  readonly port: number;
  readonly binaries: string;
  readonly account: Account | undefined;
  readonly logFile: string;
}): Promise<ChildProcess> {
  const { data, port, binaries, account, logFile } = server;
  // A killed server leaves its pid file, and its pid may belong to another process by now.
  await rm(join(data, "postmaster.pid"), { force: true });
  const output = await open(logFile, "w");
  const child = spawn(program(binaries, "postgres"), ["-D", data, ...fixedSettings(port, true)], {
    ...account,
    cwd: "/",
    env: { LC_ALL: "C", TZ: "UTC" },
    // A separate process group, so that Ctrl-C in the test's terminal does not stop the server before the test does.
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
  });
  await output.close();
  for (;;) {
    if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${await readFile(logFile, "utf8")}`);
    const written = await readPidFile(data);
    if (written?.pid === child.pid && written?.status === "ready") return child;
    await sleep(5);
  }
}

function hasEnded(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    else child.once("exit", () => resolve());
  });
}

/** Returns the children of a process. All processes of PostgreSQL are children of its main process. */
async function childrenOf(pid: number | undefined): Promise<number[]> {
  if (pid === undefined) return [];
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return listed.split(" ").filter(Boolean).map(Number);
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

async function untilGone(pid: number): Promise<void> {
  while ((await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")).includes("(postgres)")) {
    signalProcess(pid, "SIGKILL");
    await sleep(2);
  }
}

/** Files that are not copied, because they belong to the one server. */
const NOT_COPIED = new Set(["postmaster.pid", "postmaster.opts", "standby.signal", "log"]);
/** Directories whose content is not copied. */
const EMPTY = new Set(["pg_wal", "pg_replslot", "pg_stat_tmp", "pg_subtrans"]);

/** Copies the files of a running cluster, between pg_backup_start and pg_backup_stop: npm's PostgreSQL has no pg_basebackup. */
export async function copyCluster(from: ServerFiles, to: ServerFiles): Promise<void> {
  const { superuserPassword } = await readConnection(from.home);
  const client = new pg.Client({ connectionString: superuserUrl(from.port, superuserPassword) });
  await client.connect();
  try {
    await client.query("select pg_backup_start('copy', true)");
    await copyTree(dataOf(from.home), dataOf(to.home), to.account);
    const { rows } = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)");
    await writeOwned(join(dataOf(to.home), "backup_label"), rows[0]?.labelfile ?? "", to.account);
  } finally {
    await client.end();
  }
}

async function copyTree(from: string, to: string, account: Account | undefined): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  if (account) await chown(to, account.uid, account.gid);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (NOT_COPIED.has(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && !EMPTY.has(entry.name)) await copyTree(source, target, account);
    else if (entry.isDirectory()) await makeOwnedDirectory(target, account);
    else await copyOwned(source, target, account);
  }
}

async function makeOwnedDirectory(path: string, account: Account | undefined): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (account) await chown(path, account.uid, account.gid);
}

async function copyOwned(source: string, target: string, account: Account | undefined): Promise<void> {
  try {
    await copyFile(source, target);
    if (account) await chown(target, account.uid, account.gid);
  } catch (error) {
    // The file was dropped meanwhile. Replaying the write-ahead log drops it in the copy too.
    if (systemCode(error) !== "ENOENT") throw error;
  }
}

export async function writeOwned(path: string, content: string, account: Account | undefined): Promise<void> {
  await writeFile(path, content);
  if (account) await chown(path, account.uid, account.gid);
}
