import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { dataOf } from "./cluster.ts";
import { type KernelLock, waitForLock } from "./data-directory.ts";
import type { SurvivorTask } from "./end-survivor.ts";
import { isPostmasterOf, type Postmaster } from "./postmaster.ts";
import { type Cluster, ensureRunning } from "./server.ts";

/**
 * Interval between two checks whether PostgreSQL runs. Too low: costs processor time all day. Too high: lengthens each
 * outage.
 */
const POLL_INTERVAL_MS = 100;
/** After a server lived this long it is restarted without delay. */
const PROVEN_AFTER_MS = 10_000;
/**
 * Maximum delay of a restart. Too low: fills the log of a machine whose disk is full. Too high: delays the restart once
 * the cause is gone.
 */
const MAX_RESTART_DELAY_MS = 10_000;

export type Supervisor = { restartedCount: () => number; end: () => Promise<void> };

/**
 * Watches the cluster's PostgreSQL and starts it again, on the same port, whenever it is gone.
 * Every user of the cluster watches; the lock lets one of them act, and the others then find it running.
 */
export function supervise(cluster: Cluster, first: Postmaster, mutex: () => KernelLock | undefined): Supervisor {
  const stopping = new AbortController();
  let restarted = 0;
  const watch = async () => {
    let current = first;
    let soonDeaths = 0;
    for (;;) {
      const lived = await waitForDeath(current.pid, cluster, stopping.signal);
      cluster.log({ event: "died", pid: current.pid });
      soonDeaths = lived >= PROVEN_AFTER_MS ? 0 : soonDeaths + 1;
      current = await restart(cluster, mutex, soonDeaths, stopping.signal);
      restarted += 1;
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  return {
    restartedCount: () => restarted,
    end: async () => {
      stopping.abort();
      await watching;
    },
  };
}

/** @returns how long it was seen alive, in milliseconds */
async function waitForDeath(pid: number, cluster: Cluster, signal: AbortSignal): Promise<number> {
  let lived = 0;
  while (await isPostmasterOf(pid, dataOf(cluster.home))) {
    // The timer does not hold the event loop: a process that forgets to close still ends, and the next start joins the
    // orphan.
    await sleep(POLL_INTERVAL_MS, undefined, { signal, ref: false });
    lived += POLL_INTERVAL_MS;
  }
  signal.throwIfAborted();
  return lived;
}

async function restart(
  cluster: Cluster,
  mutex: () => KernelLock | undefined,
  soonDeaths: number,
  signal: AbortSignal,
): Promise<Postmaster> {
  for (let failures = Math.max(0, soonDeaths - 1); ; failures += 1) {
    if (failures > 0) await sleep(delayAfter(failures), undefined, { signal });
    let lock: KernelLock | undefined;
    try {
      lock = await waitForLock(mutex, signal);
      return await ensureRunning(cluster, { mayMove: false, signal });
    } catch (error) {
      signal.throwIfAborted();
      const message = error instanceof Error ? error.message : "unknown failure";
      cluster.log({ event: "restart_failed", message, retryInMs: delayAfter(failures + 1) });
    } finally {
      lock?.release();
    }
  }
}

/** Milliseconds to wait after the nth failure in a row: 100, 200, 400, … */
export function delayAfter(failures: number): number {
  return Math.min(50 * 2 ** failures, MAX_RESTART_DELAY_MS);
}

/** Ensures that PostgreSQL does not outlive us for long. */
export interface SurvivorWatch {
  /** We have closed in order: nothing is to be done. */
  end(): void;
}

/**
 * Starts a shell that waits for our end. It reads from a pipe of which we alone hold the other side: the kernel closes it
 * however we end, and a line over it says that we closed in order. After any other end the shell gives a successor time to
 * join, and then runs `end-survivor`, which stops PostgreSQL unless it is in use. A shell, because it waits for days: it
 * takes a megabyte, where a second Node.js takes fifty.
 * On Windows there is none: PostgreSQL waits for the next start there.
 */
export function watchForSurvivor(task: SurvivorTask, graceSeconds: number): SurvivorWatch {
  if (process.platform === "win32") return { end: () => undefined };
  const program = fileURLToPath(new URL(`end-survivor${import.meta.url.slice(-3)}`, import.meta.url));
  const conditions = process.execArgv.filter((word) => word.startsWith("--conditions="));
  const shell = spawn(
    "/bin/sh",
    ["-c", SCRIPT, "sh", String(graceSeconds), process.execPath, ...conditions, program, JSON.stringify(task)],
    // A separate session: a signal to our terminal or process group must not end the watch before us.
    { cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"], env: { NODE_NO_WARNINGS: "1" } },
  );
  // Without a shell PostgreSQL keeps running until the next start.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  // The pipe must not keep us alive.
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  return { end: () => void shell.stdin.end("left\n") };
}

/** `read` fails at the end of a pipe that brought no line. */
const SCRIPT = 'read -r _ && exit 0; sleep "$1"; shift; exec "$@"';
