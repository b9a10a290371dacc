import { type ChildProcess, spawn } from "node:child_process";
import { open, readFile, rm } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { program } from "./binaries.ts";
import { dataOf } from "./cluster.ts";
import {
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

/** A complete cluster and its dependencies. All functions here are called under the data directory's lock. */
export type Cluster = {
  home: string;
  binaries: string;
  account: Account | undefined;
  isDurable: boolean;
  log: LogEvent;
};

/**
 * Interval of the readiness check. Too low: costs processor time. Too high: delays each start, which takes 20 to 50 ms.
 */
const POLL_INTERVAL_MS = 5;

/**
 * Joins the running PostgreSQL of the cluster, whoever started it, or starts one. `mayMove`: use another port when ours is
 * taken (only before any process knows the port).
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
    // 300 tries at 100 ms are 30 s.
    if (isAnotherThere(result.failure) && attempt < 300) {
      await sleep(100, undefined, { signal: options.signal });
      continue;
    }
    failures += 1;
    await prepareRetry(cluster, result.failure, { port, failures, ...options });
  }
}

/** Stops the cluster's PostgreSQL: fast, and when that takes too long at once, which costs the next start a recovery. */
export async function stop(cluster: Omit<Cluster, "isDurable">): Promise<void> {
  const running = await findPostmaster(dataOf(cluster.home));
  if (!running) return;
  // Fast writes a checkpoint: up to 4 GB of dirty pages. Supervisors usually kill after 10 to 90 s, and a kill loses nothing either.
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

/** Waits out a start, recovery or stop that somebody else began. */
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
 * PostgreSQL copes with the pid file of a dead server by itself, but takes any living process of that
 * number for a server. Removing the file is safe even if orphaned children of the dead one still run:
 * PostgreSQL derives its shared memory's key from the directory and refuses while one is attached.
 */
async function removeStalePidFile(cluster: Cluster): Promise<void> {
  const data = dataOf(cluster.home);
  const left = await readPidFile(data);
  if (!left || !isAlive(left.pid)) return;
  await rm(pidFileOf(data), { force: true });
  cluster.log({ event: "stale_pid_file_removed", pid: left.pid });
}

async function start(
  cluster: Cluster,
  port: number,
  signal: AbortSignal,
): Promise<{ ready: Postmaster } | { failure: string }> {
  const data = dataOf(cluster.home);
  await writeSettings(cluster.home);
  const startLog = join(cluster.home, "start.log");
  // Made anew: opened by root, a link left in its place would be followed.
  await rm(startLog, { force: true });
  const output = await open(startLog, "wx", 0o600);
  let pid: number | undefined;
  try {
    // Detached: a Ctrl-C in our terminal must not reach it, and it must outlive us while others use it.
    const child = spawn(
      program(cluster.binaries, "postgres"),
      ["-D", data, ...fixedSettings(port, cluster.isDurable)],
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

/** Returns an error when it could not be run at all; otherwise returns when it is ready or has ended. */
async function waitUntilReady(child: ChildProcess, data: string, signal: AbortSignal): Promise<Error | undefined> {
  let failure: Error | undefined;
  child.once("error", (error) => (failure = error));
  let isAskedToEnd = false;
  // No time limit: recovery after a crash may take long, and giving up would only start it over.
  while (!failure && child.exitCode === null && child.signalCode === null) {
    const state = await readPidFile(data);
    if (state?.pid === child.pid && state?.status === "ready") return undefined;
    // Waits for its pid file before stopping: a later stop would not find the process without it.
    if (signal.aborted && !isAskedToEnd) isAskedToEnd = child.kill("SIGINT");
    await sleep(POLL_INTERVAL_MS);
  }
  signal.throwIfAborted();
  return failure;
}

async function writeSettings(home: string): Promise<void> {
  const file = join(home, "settings.conf");
  // In a container its limit counts; 0 or a huge number means that there is none.
  const limit = process.constrainedMemory();
  // PostgreSQL's account reads it by its group, which is the home's.
  await writeDurably(file, renderSettings(limit > 0 ? Math.min(limit, totalmem()) : totalmem()), 0o640);
}

/**
 * Children of a killed server notice its death within moments and let go of the memory; a server whose
 * starter was killed may write its pid file just before ours would.
 */
function isAnotherThere(failure: string): boolean {
  return failure.includes("pre-existing shared memory block") || failure.includes('lock file "postmaster.pid"');
}

async function prepareRetry(
  cluster: Cluster,
  failure: string,
  { port, failures, mayMove, signal }: { port: number; failures: number; mayMove: boolean; signal: AbortSignal },
): Promise<void> {
  if (mayMove && failures < 10 && !(await isFree(port))) {
    cluster.log({ event: "port_taken", port });
    await writeConnection(cluster.home, { ...(await readConnection(cluster.home)), port: await findFreePort() });
    return;
  }
  // It may have been killed while it started. More attempts would only delay the message about a real failure.
  if (failures < 5) {
    await sleep(100, undefined, { signal });
    return;
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL did not start on ${dataOf(cluster.home)}: ${failure || "it logged nothing"}. See also the newest file in its log directory.`,
  );
}
