import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile, rm } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { program } from "./binaries.ts";
import { dataOf } from "./cluster.ts";
import {
  canHaveSocket,
  findFreePort,
  fixedSettings,
  isFree,
  readConnection,
  renderSettings,
  writeConnection,
} from "./configuration.ts";
import type { LogEvent } from "./events.ts";
import { type Account, EmbeddedPostgresError, writeDurably } from "./operating-system.ts";
import {
  findPostmaster,
  isAlive,
  isPostmasterOf,
  pidFileOf,
  type Postmaster,
  readLog,
  readPidFile,
  signalPostmaster,
} from "./postmaster.ts";

/*
 * Starts, joins and stops the PostgreSQL server of a cluster. Any process may have started it, and any may have been killed
 * meanwhile, so each step looks first at what runs. The postmaster is PostgreSQL's main process.
 */

/** A complete cluster and what it needs to run. Call all functions of this file under the data directory's lock. */
export type Cluster = {
  home: string;
  binaries: string;
  account: Account | undefined;
  isDurable: boolean;
  hasSocket: boolean;
  log: LogEvent;
};

/**
 * Interval of the checks whether PostgreSQL is ready, or has ended. Too low: costs processor time. Too high: delays
 * each start, which takes 20 to 50 ms, and each stop.
 */
const POLL_INTERVAL_MS = 5;

/**
 * Joins the PostgreSQL that runs on the cluster, whichever process started it, or starts one. `mayMove`: use another port
 * when the recorded one is taken. That is possible only while no process knows the port.
 */
export async function ensureRunning(
  cluster: Cluster,
  options: { mayMove: boolean; signal: AbortSignal },
): Promise<Postmaster> {
  let failures = 0;
  for (let attempt = 1; ; attempt += 1) {
    const running = await waitUntilSteady(cluster, options.signal);
    if (running) {
      cluster.log({ event: "joined", pid: running.pid, port: running.port });
      return running;
    }
    await removeStalePidFile(cluster);
    const { port } = await readConnection(cluster.home);
    const result = await start(cluster, port, options.signal);
    if ("ready" in result) {
      cluster.log({ event: "started", pid: result.ready.pid, port });
      return result.ready;
    }
    // This does not count as a failure of ours. 300 attempts, 100 ms apart, take 30 s.
    if (isAnotherThere(result.failure) && attempt < 300) {
      await sleep(100, undefined, { signal: options.signal });
      continue;
    }
    failures += 1;
    await prepareRetry(cluster, result.failure, { port, failures, ...options });
  }
}

/** Returns the directory of PostgreSQL's Unix socket; undefined: it has none. */
export function socketDirectoryOf({ home, hasSocket }: Cluster, port: number): string | undefined {
  const data = dataOf(home);
  return hasSocket && canHaveSocket(data, port) ? data : undefined;
}

/** Stops PostgreSQL by a fast shutdown. If this takes too long, by an immediate one: then the next start must recover. */
export async function stop(cluster: Omit<Cluster, "isDurable" | "hasSocket">): Promise<void> {
  const running = await findPostmaster(dataOf(cluster.home));
  if (!running) return;
  // A fast shutdown writes a checkpoint of up to 4 GB, which may take longer than this. Neither an immediate shutdown nor the
  // kill of a supervisor, often after 10 to 90 s, loses data: the next start recovers.
  const steps = [
    { how: "fast", signal: "INT", timeoutMs: 30_000 },
    { how: "immediate", signal: "QUIT", timeoutMs: 10_000 },
  ] as const;
  for (const { how, signal, timeoutMs } of steps) {
    await signalPostmaster(running.pid, signal, cluster.binaries, cluster.account);
    if (await waitUntilGone(running.pid, cluster.home, timeoutMs)) {
      cluster.log({ event: "stopped", pid: running.pid, how });
      return;
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL (process ${running.pid}) does not stop. Look at ${join(dataOf(cluster.home), "log")}; its disk may hang.`,
  );
}

async function waitUntilGone(pid: number, home: string, timeoutMs: number): Promise<boolean> {
  for (let waited = 0; waited < timeoutMs; waited += POLL_INTERVAL_MS) {
    if (!(await isPostmasterOf(pid, dataOf(home)))) return true;
    await sleep(POLL_INTERVAL_MS);
  }
  return false;
}

/** Waits until a start, recovery or stop that another process began is over. */
async function waitUntilSteady(cluster: Cluster, signal: AbortSignal): Promise<Postmaster | undefined> {
  let loggedStatus = "";
  for (;;) {
    const running = await findPostmaster(dataOf(cluster.home));
    if (!running || running.status === "ready") return running;
    if (loggedStatus !== running.status) cluster.log({ event: "waiting", status: running.status });
    loggedStatus = running.status;
    await sleep(POLL_INTERVAL_MS, undefined, { signal });
  }
}

/**
 * Removes the pid file of a dead server when its pid now belongs to another process, which PostgreSQL would take for the
 * server. This is safe even while children of the dead server still run: they are attached to the shared memory of the
 * data directory, and PostgreSQL refuses to start until they are gone.
 */
async function removeStalePidFile(cluster: Cluster): Promise<void> {
  const data = dataOf(cluster.home);
  const left = await readPidFile(data);
  if (!left || !isAlive(left.pid)) return;
  await rm(pidFileOf(data), { force: true });
  cluster.log({ event: "stale_pid_file_removed", pid: left.pid });
}

/** Starts PostgreSQL once. @returns the running server, or what it printed and logged before it ended */
async function start(
  cluster: Cluster,
  port: number,
  signal: AbortSignal,
): Promise<{ ready: Postmaster } | { failure: string }> {
  const data = dataOf(cluster.home);
  await writeSettings(cluster.home);
  const startLog = join(cluster.home, "start.log");
  // The file is made anew. Otherwise root could follow a link that somebody has put in its place.
  await rm(startLog, { force: true });
  const output = await open(startLog, "wx", 0o600);
  let pid: number | undefined;
  try {
    // Detached, because Ctrl-C in this terminal must not reach PostgreSQL, and other processes may use it after we end.
    const child = spawn(
      program(cluster.binaries, "postgres"),
      ["-D", data, ...fixedSettings(port, cluster.isDurable, socketDirectoryOf(cluster, port))],
      {
        ...cluster.account,
        cwd: "/",
        env: { LC_ALL: "C", TZ: "UTC" },
        detached: true,
        stdio: ["ignore", output.fd, output.fd],
      },
    );
    child.unref();
    pid = child.pid;
    cluster.log({ event: "starting", port });
    const failure = await waitUntilReady(child, data, signal);
    if (failure) return { failure: failure.message };
  } finally {
    await output.close();
  }
  const ready = await findPostmaster(data);
  return ready ? { ready } : { failure: `${await readFile(startLog, "utf8")}${await readLog(data, pid)}`.trim() };
}

/** Waits until PostgreSQL is ready or has ended. @returns an error if its program could not be run at all */
async function waitUntilReady(child: ChildProcess, data: string, signal: AbortSignal): Promise<Error | undefined> {
  let failure: Error | undefined;
  child.once("error", (error) => (failure = error));
  let isAskedToEnd = false;
  // No time limit: recovery after a crash may take long, and giving up would only start it over.
  while (!failure && child.exitCode === null && child.signalCode === null) {
    const state = await readPidFile(data);
    if (state?.pid === child.pid && state?.status === "ready") return undefined;
    // An aborted start still waits until PostgreSQL has ended: another process cannot find it before it has a pid file.
    if (signal.aborted && !isAskedToEnd) isAskedToEnd = child.kill("SIGINT");
    await sleep(POLL_INTERVAL_MS);
  }
  signal.throwIfAborted();
  return failure;
}

async function writeSettings(home: string): Promise<void> {
  const file = join(home, "settings.conf");
  // The memory limit of the container; 0 or a huge number: there is none.
  const limit = process.constrainedMemory();
  // PostgreSQL's account reads the file by its group, which is the group of `home`.
  await writeDurably(file, renderSettings(limit > 0 ? Math.min(limit, totalmem()) : totalmem()), 0o640);
}

/**
 * Tells whether a start failed because another PostgreSQL is still there, so that a retry helps. It may be children of a
 * killed server, which end within moments, or a server that a killed process started just before.
 */
function isAnotherThere(failure: string): boolean {
  return failure.includes("pre-existing shared memory block") || failure.includes('lock file "postmaster.pid"');
}

/** Prepares another attempt after a failed start: takes another port, or waits. @throws EmbeddedPostgresError to give up */
async function prepareRetry(
  cluster: Cluster,
  failure: string,
  { port, failures, mayMove, signal }: { port: number; failures: number; mayMove: boolean; signal: AbortSignal },
): Promise<void> {
  // Gives up after nine ports: then another port would not help.
  if (mayMove && failures < 10 && !(await isFree(port))) {
    cluster.log({ event: "port_taken", port });
    await writeConnection(cluster.home, { ...(await readConnection(cluster.home)), port: await findFreePort() });
    return;
  }
  // PostgreSQL may have been killed while it started. More attempts would only delay the message about a real failure.
  if (failures < 5) {
    await sleep(100, undefined, { signal });
    return;
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL did not start on ${dataOf(cluster.home)}: ${failure || "it logged nothing"}. See also the newest file in its log directory.`,
  );
}
