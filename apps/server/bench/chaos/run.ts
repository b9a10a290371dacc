import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createRandom } from "@bikeshare/simulator";
import { createLedger, type Ledger } from "../workload/ledger.ts";
import { type PreparedSystem, prepareSystem } from "../workload/prepare.ts";
import { type Receiver, startReceiver } from "../workload/receiver.ts";
import { createRequests } from "../workload/requests.ts";
import { verifyWorkload, type WorkloadReport } from "../workload/verify.ts";
import { startWorkload, type Workload } from "../workload/workload.ts";
import type { BalancerName } from "./balancers.ts";
import { createCallers } from "./callers.ts";
import type { Component, ComponentKind } from "./component.ts";
import { type MemorySeries, sampleMemory } from "./memory.ts";
import { createObservations, type Figures, type Observations } from "./observations.ts";
import { startPostgresPair } from "./postgres.ts";
import { type Stack, startStack } from "./stack.ts";

export interface ChaosOptions {
  /** An empty directory that PostgreSQL's account may enter. */
  readonly directory: string;
  readonly seconds: number;
  readonly killEverySeconds: number;
  /** Requests in a second. Default: half of the capacity, which is measured first. */
  readonly rate?: number;
  readonly seed: number;
  readonly balancer: BalancerName;
  /** Instead of kills: each API process and worker is restarted in order, and nobody may notice. */
  readonly isRolling: boolean;
  /** Rejects when the run is to end early. */
  readonly interrupted: Promise<never>;
  readonly onProgress: (line: string) => void;
}

export interface Kill {
  readonly name: string;
  readonly kind: ComponentKind;
  /** Milliseconds from the kill until the component was ready again. */
  readonly backMs: number;
  /** From the kill to the next. */
  readonly figures: Figures;
}

export interface ChaosReport {
  readonly isRolling: boolean;
  /** Requests in a second that are answered when clients wait for nothing but answers. */
  readonly capacity: number;
  readonly kills: readonly Kill[];
  readonly total: Figures;
  readonly memory: readonly MemorySeries[];
  readonly workload: WorkloadReport;
  /** What `bikeshare check` found wrong; empty: nothing. */
  readonly brokenInvariants: string;
}

/** While the capacity is measured: requests in a second at first, and how many times as many in the next step. */
const FIRST_RATE = 50;
const RATE_STEP = 1.5;
const WARM_UP_MS = 1_000;
const STEP_MS = 3_000;
/** A rate is beyond the capacity where fewer of the requests are sent, because answers are awaited, or they take longer. */
const SERVED_SHARE = 0.75;
const MAX_P99_MS = 1_000;
/** Of the clients of the run; the others read. */
const RIDER_SHARE = 0.15;
const HOLDER_SHARE = 0.15;
/** Seconds that a client waits between two requests: longer than an outage, so that the load goes on during one. */
const PAUSE_SECONDS = 4;
/** While the capacity is measured: a step must be many pauses long. */
const CAPACITY_PAUSE_SECONDS = 0.4;
const MAX_CLIENTS = 3_000;
const MAIN = join(import.meta.dirname, "../../src/main.ts");

/** Starts everything, measures the capacity, kills under half of it, and compares what is there with what was promised. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { directory, onProgress } = options;
  const secretsFile = join(directory, "secrets.json");
  const postgres = await startPostgresPair();
  const receiver = await startReceiver();
  const callers = createCallers();
  try {
    const riders = Math.ceil(MAX_CLIENTS * RIDER_SHARE);
    const holders = Math.ceil(MAX_CLIENTS * HOLDER_SHARE);
    const databaseUrl = postgres.primaryUrl;
    const system = await prepareSystem({ databaseUrl, secretsFile, receiver, riders, holders, partners: 4 });
    const stack = await startStack({ directory, postgres, secretsFile, balancer: options.balancer });
    try {
      onProgress("everything runs");
      const observations = createObservations();
      const requests = createRequests(() => stack.balancer.url, {
        transport: callers.send,
        onAttempt: observations.add,
      });
      const world = { ...options, stack, system, receiver, observations, ledger: createLedger(requests) };
      const env = { DATABASE_URL: databaseUrl, DATA_DIR: directory, SECRETS_FILE: secretsFile };
      const figures = await Promise.race([killUnderLoad(world), options.interrupted]);
      return { ...figures, brokenInvariants: await check(env) };
    } finally {
      await stack.close();
    }
  } finally {
    await callers.close();
    await receiver.close();
    await postgres.close();
  }
}

interface World extends ChaosOptions {
  readonly stack: Stack;
  readonly system: PreparedSystem;
  readonly receiver: Receiver;
  readonly observations: Observations;
  readonly ledger: Ledger;
}

async function killUnderLoad(world: World): Promise<Omit<ChaosReport, "brokenInvariants">> {
  const { stack, system, receiver, observations, ledger, seconds, killEverySeconds, onProgress } = world;
  const capacity = world.rate === undefined ? await measureCapacity(world) : world.rate * 2;
  if (capacity === 0) throw new Error(`${FIRST_RATE} requests/s are too many for this machine at present`);
  onProgress(`capacity: ${capacity} requests/s; ${Math.round(capacity / 2)} from now on`);
  const over = new AbortController();
  const memory = sampleMemory(stack.components, over.signal);
  const workload = load(world, "", capacity / 2, PAUSE_SECONDS);
  await sleep(killEverySeconds * 1_000);
  const from = performance.now();
  const kills = await killComponents(world, Math.floor(seconds / killEverySeconds));
  const total = observations.between(from, performance.now());
  onProgress("the load ends; what is there is compared with what was promised");
  over.abort();
  await workload.stop();
  const report = await verifyWorkload({ base: stack.directUrl, system, ledger, receiver });
  return { isRolling: world.isRolling, capacity, kills, total, memory: await memory, workload: report };
}

/** Raises the rate step by step. @returns the highest at which what was asked for was answered */
async function measureCapacity(world: World): Promise<number> {
  await answeredAt(world, "warm-up", FIRST_RATE);
  let capacity = 0;
  for (let rate = FIRST_RATE; ; rate = Math.round(rate * RATE_STEP)) {
    // Another process of the machine may have taken the time of one step.
    const answered =
      (await answeredAt(world, `first-${rate}`, rate)) ?? (await answeredAt(world, `again-${rate}`, rate));
    if (answered === undefined) return capacity;
    capacity = answered;
  }
}

/** @returns requests answered in a second; undefined where the rate is beyond what is answered in time */
async function answeredAt(world: World, name: string, rate: number): Promise<number | undefined> {
  const workload = load(world, `${name}-`, rate, CAPACITY_PAUSE_SECONDS);
  await sleep(WARM_UP_MS);
  const from = performance.now();
  await sleep(STEP_MS);
  const { requests, p99Ms, errors } = world.observations.between(from, from + STEP_MS);
  await workload.stop();
  const answered = Math.round(requests / (STEP_MS / 1_000));
  world.onProgress(`${rate} requests/s asked for: ${answered} sent, p99 ${p99Ms} ms ${JSON.stringify(errors)}`);
  return answered >= rate * SERVED_SHARE && p99Ms < MAX_P99_MS ? answered : undefined;
}

/** Clients that together ask for so much in a second: each waits for an answer, and then for a while. */
function load(
  { stack, system, ledger, seed }: World,
  prefix: string,
  requestsPerSecond: number,
  pauseSeconds: number,
): Workload {
  const clients = Math.min(MAX_CLIENTS, requestsPerSecond * pauseSeconds);
  return startWorkload({
    base: () => stack.balancer.url,
    system,
    ledger,
    prefix,
    seed,
    riders: Math.round(clients * RIDER_SHARE),
    holders: Math.round(clients * HOLDER_SHARE),
    readers: Math.round(clients * (1 - RIDER_SHARE - HOLDER_SHARE)),
    requestsPerSecond,
  });
}

/** Kills one component after the other, or restarts it, in an order by chance in which each comes as often as the others. */
async function killComponents(world: World, count: number): Promise<Kill[]> {
  const { stack, observations, seed, killEverySeconds, isRolling, onProgress } = world;
  const disturbed = stack.components.filter(({ kind }) => !isRolling || kind === "api" || kind === "worker");
  const random = createRandom(seed);
  const kills: Kill[] = [];
  let left: Component[] = [];
  const begin = performance.now();
  for (let n = 0; n < count; n++) {
    if (left.length === 0) left = [...disturbed];
    const component = random.pick(left as [Component, ...Component[]]);
    left.splice(left.indexOf(component), 1);
    const from = performance.now();
    const backMs = Math.round(await (isRolling ? component.restart() : component.killAndRestart()));
    const next = begin + (n + 1) * killEverySeconds * 1_000;
    await sleep(Math.max(0, next - performance.now()));
    const figures = observations.between(from, performance.now());
    kills.push({ name: component.name, kind: component.kind, backMs, figures });
    const { errors, longestGapMs, p50Ms, p99Ms } = figures;
    const gaps = `gaps ${longestGapMs.read} and ${longestGapMs.write} ms`;
    onProgress(
      `${n + 1} ${component.name}: back in ${backMs} ms; ${gaps}; p50 ${p50Ms}, p99 ${p99Ms} ms; ${JSON.stringify(errors)}`,
    );
  }
  return kills;
}

/** @returns what is wrong with the stored data */
async function check(env: Readonly<Record<string, string>>): Promise<string> {
  const args = ["--conditions=@bikeshare/source", MAIN, "check"];
  return promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } }).then(
    () => "",
    (error: unknown) => (error as { stdout?: string }).stdout || String(error),
  );
}
