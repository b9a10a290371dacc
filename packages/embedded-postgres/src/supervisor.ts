import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { dataOf } from "./cluster.ts";
import { type KernelLock, waitForLock } from "./data-directory.ts";
import type { SurvivorTask } from "./end-survivor.ts";
import { isPostmasterOf, type Postmaster } from "./postmaster.ts";
import { type Cluster, ensureRunning } from "./server.ts";

/*
 * Two watches over a running PostgreSQL. The supervisor starts it again when it dies. The survivor watch is for the opposite
 * case: this process is killed and PostgreSQL goes on, and must be stopped unless a new process joins it.
 */

/**
 * Interval between two checks whether PostgreSQL runs. Too low: costs processor time all day. Too high: lengthens each
 * outage.
 */
const POLL_INTERVAL_MS = 100;
/** A server that died sooner counts as an early death. From the second early death in a row on, restarts are delayed. */
const PROVEN_AFTER_MS = 10_000;
/**
 * Maximum delay of a restart. Too low: fills the log of a machine whose disk is full. Too high: delays the restart once
 * the cause is gone.
 */
const MAX_RESTART_DELAY_MS = 10_000;

/** A running supervision. `end` ends it, and leaves PostgreSQL running. */
export type Supervisor = { restartedCount: () => number; end: () => Promise<void> };

/**
 * Watches the cluster's PostgreSQL and starts it again on the same port when it has ended. Every process that uses the
 * cluster watches. The lock lets one of them restart it, and the others then find it running.
 */
export function supervise(cluster: Cluster, first: Postmaster, mutex: () => KernelLock | undefined): Supervisor {
  const stopping = new AbortController();
  let restarted = 0;
  const watch = async () => {
    let current = first;
    let earlyDeaths = 0;
    for (;;) {
      const lived = await waitForDeath(current.pid, cluster, stopping.signal);
      cluster.log({ event: "died", pid: current.pid });
      earlyDeaths = lived >= PROVEN_AFTER_MS ? 0 : earlyDeaths + 1;
      current = await restart(cluster, mutex, earlyDeaths, stopping.signal);
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
    // The timer does not keep the event loop alive, so that a process that forgets to close can end. The next start joins
    // the PostgreSQL that it leaves.
    await sleep(POLL_INTERVAL_MS, undefined, { signal, ref: false });
    lived += POLL_INTERVAL_MS;
  }
  signal.throwIfAborted();
  return lived;
}

/** Starts PostgreSQL again, and retries until that succeeds. @param earlyDeaths how many early deaths came in a row */
async function restart(
  cluster: Cluster,
  mutex: () => KernelLock | undefined,
  earlyDeaths: number,
  signal: AbortSignal,
): Promise<Postmaster> {
  for (let failures = Math.max(0, earlyDeaths - 1); ; failures += 1) {
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

/** A watch that stops PostgreSQL some seconds after this process was killed. */
export interface SurvivorWatch {
  /** Ends the watch, because this process has closed PostgreSQL itself. */
  end(): void;
}

/**
 * Starts a shell that waits until this process ends. The shell reads from a pipe whose other end only this process holds.
 * A line from the pipe means that this process has closed PostgreSQL. When the pipe closes without a line, this process
 * was killed: the shell gives a new process `graceSeconds` to join, and then runs `end-survivor.ts`, which stops
 * PostgreSQL unless it is in use. It is a shell because it waits for days: a shell takes one megabyte of memory, a second
 * Node.js fifty. On Windows there is no shell, and PostgreSQL keeps running until the next start.
 */
export function watchForSurvivor(task: SurvivorTask, graceSeconds: number): SurvivorWatch {
  if (process.platform === "win32") return { end: () => undefined };
  // The program has the ending of this file: `.ts` in the sources, `.js` in a build.
  const program = fileURLToPath(new URL(`end-survivor${import.meta.url.slice(-3)}`, import.meta.url));
  const conditions = process.execArgv.filter((word) => word.startsWith("--conditions="));
  const shell = spawn(
    "/bin/sh",
    ["-c", SCRIPT, "sh", String(graceSeconds), process.execPath, ...conditions, program, JSON.stringify(task)],
    // A separate session, so that a signal to our terminal or process group does not end the shell.
    { cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"], env: { NODE_NO_WARNINGS: "1" } },
  );
  // Errors are ignored: without a shell PostgreSQL keeps running until the next start.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  // The pipe must not keep us alive.
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  return { end: () => void shell.stdin.end("left\n") };
}

/** The shell's program. `read` fails when the pipe closes without a line. `$1` is the seconds; a command follows it. */
const SCRIPT = 'read -r _ && exit 0; sleep "$1"; shift; exec "$@"';
