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
 * What is killed: `backend` is a process of PostgreSQL, whose end makes all of PostgreSQL start anew. `frozen-worker` is not
 * killed, but stopped until its leases have run out, and then goes on as if nothing had happened.
 */
export type Victim = "api" | "worker" | "backend" | "postmaster" | "frozen-worker";

export interface KillsOptions {
  /** What is killed, one after the other. */
  readonly victims: readonly Victim[];
  readonly requestsPerSecond: number;
  /** Milliseconds between two kills, at most, beside the time for which the service is away. */
  readonly maxPauseMs: number;
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
  /** What `bikeshare check` finds wrong. */
  readonly check: string;
  /** How often services ended by themselves: while PostgreSQL was away. */
  readonly endedAlone: number;
}

/** So that the next holder of its leases is at work when it goes on. */
const FROZEN_BEYOND_LEASE_MS = 3_000;
/** Limits the wait for a start. Too low: fails a run on a busy machine, where a start has taken a minute. */
const START_TIMEOUT_MS = 300_000;
const RIDERS = 8;
const HOLDERS = 8;
const READERS = 6;

/** Kills random processes under load, lets everything recover, and compares what is there with what was acknowledged. */
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

/** Chooses a victim: mostly what a deployment has many of. */
export function pickVictim(random: Random): Victim {
  const chance = random.next();
  if (chance < 0.35) return "api";
  if (chance < 0.7) return "worker";
  return chance < 0.97 ? "backend" : "postmaster";
}

/** @returns what resolves when the worker goes on */
async function freezeWorker(world: BadDaysWorld): Promise<{ readonly goesOn: Promise<void> }> {
  const worker = world.workers[0];
  await worker?.untilUp();
  const pid = worker?.pid();
  if (pid === undefined) throw new Error("there is no worker to freeze");
  process.kill(pid, "SIGSTOP");
  const goesOn = setTimeout(LEASE_TIMEOUTS.leaseMs + FROZEN_BEYOND_LEASE_MS).then(() => {
    // Somebody may have killed it meanwhile.
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
  // Not the last one: a deployment with one process is away for as long as the process starts.
  await until(() => processes.every((each) => each.pid() !== undefined), START_TIMEOUT_MS);
  if (victim === "api") await until(() => world.balancer.ready().length === processes.length, START_TIMEOUT_MS);
  const chosen = processes[random.between(0, processes.length - 1)];
  const pid = chosen?.pid();
  if (pid !== undefined) process.kill(pid, "SIGKILL");
}

/** One that has just ended by itself is no victim. */
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
