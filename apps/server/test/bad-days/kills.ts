import { setTimeout } from "node:timers/promises";
import {
  type Figures,
  figuresOf,
  startWorkload,
  verifyWorkload,
  type Workload,
  type WorkloadReport,
} from "@bikeshare/load";
import type { Random } from "@bikeshare/simulator";
import { LEASE_TIMEOUTS } from "../../src/webhooks/dispatcher/lanes.ts";
import { until } from "../until.ts";
import { type BadDaysWorld, openBadDaysWorld } from "./world.ts";

/**
 * What is killed. `backend` is a process of PostgreSQL, whose death makes all of PostgreSQL restart. `frozen-worker` is not
 * killed: it is suspended until its leases have expired, and then continues.
 */
export type Victim = "api" | "worker" | "backend" | "postmaster" | "frozen-worker";

export interface KillsOptions {
  /** The victims, one after the other. */
  readonly victims: readonly Victim[];
  readonly requestsPerSecond: number;
  /** Most milliseconds between the recovery after a kill and the next kill. */
  readonly maxPauseMs: number;
  /** The share of reservations that clients let expire, from 0 to 1. */
  readonly expiringShare: number;
  readonly random: Random;
  readonly seed: number;
  readonly onProgress: (line: string) => void;
}

/** A kill, and the milliseconds until reads and writes sent after it were answered. */
interface Kill {
  readonly victim: Victim;
  readonly recoveryMs: number;
}

export interface KillsReport {
  readonly kills: readonly Kill[];
  readonly workload: WorkloadReport;
  readonly figures: Figures;
  /** The violations that `bikeshare check` finds. */
  readonly check: string;
  /** How often a process of the service ended by itself, because PostgreSQL was unreachable. */
  readonly endedAlone: number;
}

/**
 * Milliseconds for which a frozen worker stays suspended after its lease has expired, so that another worker has the lease
 * when it continues.
 */
const FROZEN_BEYOND_LEASE_MS = 3_000;
/** Limits the wait for a start. Too low: fails a run on a busy machine, where a start has taken a minute. */
const START_TIMEOUT_MS = 300_000;
const RIDERS = 8;
const HOLDERS = 8;
const READERS = 6;

/** Kills random processes under load, lets everything recover, and compares the data with the acknowledged results. */
export async function runKills(options: KillsOptions): Promise<KillsReport> {
  const { requestsPerSecond, expiringShare, seed } = options;
  const clients = { riders: RIDERS, holders: HOLDERS };
  const world = await openBadDaysWorld({ apis: 2, workers: 2, ...clients, answerMs: 10 });
  try {
    const { balancer, system, receiver } = world;
    const base = balancer.url;
    const workload = startWorkload({
      base,
      system,
      ...clients,
      readers: READERS,
      requestsPerSecond,
      expiringShare,
      seed,
    });
    await workload.ledger.requests.untilServed();
    const thaws: Promise<void>[] = [];
    const kills = await killAll(world, workload, options, thaws);
    await Promise.all(thaws);
    await Promise.all([...world.apis, ...world.workers].map((each) => each.untilUp()));
    await workload.stop();
    const report = await verifyWorkload({ base, partnerKeys: system.partnerKeys, ledger: workload.ledger, receiver });
    const ended = [...world.apis, ...world.workers].reduce((sum, each) => sum + each.endedCount(), 0);
    const killed = kills.filter(({ victim }) => victim === "api" || victim === "worker").length;
    const figures = figuresOf(workload.ledger.requests.attempts);
    return { kills, workload: report, figures, check: await world.check(), endedAlone: ended - killed };
  } finally {
    await world.close();
  }
}

async function killAll(
  world: BadDaysWorld,
  { ledger }: Workload,
  options: KillsOptions,
  thaws: Promise<void>[],
): Promise<Kill[]> {
  const { random, maxPauseMs, onProgress } = options;
  const kills: Kill[] = [];
  for (const victim of options.victims) {
    await setTimeout(random.next() * maxPauseMs);
    if (victim === "frozen-worker") thaws.push((await freezeWorker(world)).goesOn);
    else await kill(world, victim, random);
    const recoveryMs = await ledger.requests.untilServed();
    kills.push({ victim, recoveryMs });
    if (kills.length % 10 === 0) onProgress(`${kills.length} kills, ${ledger.requests.attempts.length} requests`);
  }
  return kills;
}

/** Chooses a random victim. Kinds of processes that a deployment has many of are chosen more often. */
export function pickVictim(random: Random): Victim {
  const chance = random.next();
  if (chance < 0.35) return "api";
  if (chance < 0.7) return "worker";
  return chance < 0.97 ? "backend" : "postmaster";
}

/** Suspends a worker for longer than its lease. @returns a promise that resolves when the worker continues */
async function freezeWorker(world: BadDaysWorld): Promise<{ readonly goesOn: Promise<void> }> {
  const worker = world.workers[0];
  await worker?.untilUp();
  const pid = worker?.pid();
  if (pid === undefined) throw new Error("there is no worker to freeze");
  process.kill(pid, "SIGSTOP");
  const goesOn = setTimeout(LEASE_TIMEOUTS.leaseMs + FROZEN_BEYOND_LEASE_MS).then(() => {
    // The worker may have been killed in the meantime.
    if (worker?.pid() === pid) process.kill(pid, "SIGCONT");
  });
  return { goesOn };
}

async function kill(world: BadDaysWorld, victim: Victim, random: Random): Promise<void> {
  if (victim === "postmaster") {
    process.kill(await world.postmaster(), "SIGKILL");
    return;
  }
  if (victim === "backend") {
    await killBackend(world, random);
    return;
  }
  const processes = victim === "api" ? world.apis : world.workers;
  // Waits until all processes of the role run, so that never the last one is killed: without any, the service is unavailable
  // until one has started.
  await until(() => processes.every((each) => each.pid() !== undefined), START_TIMEOUT_MS);
  if (victim === "api") await until(() => world.balancer.ready().length === processes.length, START_TIMEOUT_MS);
  const chosen = processes[random.between(0, processes.length - 1)];
  const pid = chosen?.pid();
  if (pid !== undefined) process.kill(pid, "SIGKILL");
}

/** Kills a backend of PostgreSQL. Chooses again if the chosen one has just ended by itself. */
async function killBackend(world: BadDaysWorld, random: Random): Promise<void> {
  for (;;) {
    const [first, ...others] = await world.backends();
    if (first === undefined) {
      await setTimeout(10);
      continue;
    }
    try {
      process.kill(random.pick([first, ...others]), "SIGKILL");
      return;
    } catch {
      await setTimeout(10);
    }
  }
}
