import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  createLedger,
  createRequests,
  type Figures,
  figuresOf,
  type Ledger,
  memoryMiB,
  openReceiver,
  type PreparedSystem,
  type Receiver,
  startWorkload,
  verifyWorkload,
  type Workload,
  type WorkloadReport,
} from "@bikeshare/load";
import { createRandom } from "@bikeshare/simulator";
import { brokenInvariants } from "../processes.ts";
import { prepareSystem } from "../workload/prepare.ts";
import type { BalancerName } from "./balancers.ts";
import type { Component, ComponentKind } from "./component.ts";
import { startPostgresPair } from "./postgres.ts";
import { type Stack, startStack } from "./stack.ts";

/*
 * A run of `pnpm bench chaos`: kills the components of a deployment one after the other, while clients send half of the
 * requests that it can answer. Afterwards it checks that nothing that was acknowledged is lost.
 */

export interface ChaosOptions {
  /** An empty directory that PostgreSQL's account can enter. */
  readonly directory: string;
  readonly seconds: number;
  readonly killEverySeconds: number;
  /** Requests per second. Default: half of the capacity, which is measured first. */
  readonly rate?: number;
  readonly seed: number;
  readonly balancer: BalancerName;
  /** Restarts each API process and worker regularly instead of killing components. No caller may notice. */
  readonly isRolling: boolean;
  /** Rejects when the run is interrupted. */
  readonly interrupted: Promise<never>;
  readonly onProgress: (line: string) => void;
}

/** One component that was killed, or stopped gracefully and started again (`isRolling`), and what callers saw of it. */
export interface Kill {
  readonly name: string;
  readonly kind: ComponentKind;
  /** Milliseconds from the kill, or from the request to stop, until the component was ready again. */
  readonly backMs: number;
  /** The figures from this kill until the next one is due. */
  readonly figures: Figures;
}

/** What a run has found. */
export interface ChaosReport {
  readonly isRolling: boolean;
  /** The maximum requests per second that the service answered in time; twice the rate, if the options give one. */
  readonly capacity: number;
  readonly kills: readonly Kill[];
  readonly total: Figures;
  readonly memory: readonly MemorySeries[];
  readonly workload: WorkloadReport;
  /** The violations that `bikeshare check` found; empty: none. */
  readonly brokenInvariants: string;
}

/** The first rate of the capacity measurement; RATE_STEP multiplies it at each step. */
const FIRST_RATE = 50;
const RATE_STEP = 1.5;
const WARM_UP_MS = 1_000;
const STEP_MS = 3_000;
/**
 * Minimum share of the intended requests that the clients send. Below it, the rate exceeds the capacity: each client
 * waits for an answer before its next request, so slow answers mean fewer requests.
 */
const MIN_SENT_SHARE = 0.75;
const MAX_P99_MS = 1_000;
/** The shares of clients that ride, and that hold reservations; the others read. */
const RIDER_SHARE = 0.15;
const HOLDER_SHARE = 0.15;
/** Seconds between two requests of a client. It exceeds an outage, so that the load continues during one. */
const PAUSE_SECONDS = 4;
/** The same pause while the capacity is measured: a step must be many pauses long. */
const CAPACITY_PAUSE_SECONDS = 0.4;
const MAX_CLIENTS = 3_000;
/**
 * The clients use many addresses, because the balancer allows each address only 500 requests in 10 s and 100 connections.
 */
const ADDRESSES = Array.from({ length: 64 }, (_, n) => `127.0.1.${n + 1}`);
const MEMORY_INTERVAL_MS = 2_000;

/** The memory of a component's processes over a run. */
export interface MemorySeries {
  readonly name: string;
  /** MiB of private memory. */
  readonly samples: readonly number[];
}

/**
 * Starts everything, measures the capacity, kills components at half of it, and compares the data with the acknowledged
 * results.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { directory, onProgress } = options;
  const secretsFile = join(directory, "secrets.json");
  const postgres = await startPostgresPair();
  const receiver = await openReceiver();
  try {
    const riders = Math.ceil(MAX_CLIENTS * RIDER_SHARE);
    const holders = Math.ceil(MAX_CLIENTS * HOLDER_SHARE);
    const databaseUrl = postgres.primaryUrl;
    const system = await prepareSystem({ databaseUrl, secretsFile, receiver, riders, holders, partners: 4 });
    const stack = await startStack({ directory, postgres, secretsFile, balancer: options.balancer });
    try {
      onProgress("everything runs");
      // Sends from many addresses, because the balancer limits the requests of each address.
      const callers = { localAddresses: ADDRESSES, rejectUnauthorized: false };
      const ledger = createLedger(createRequests(stack.balancer.url, callers));
      const deployment = { ...options, stack, system, receiver, ledger };
      const env = { DATABASE_URL: databaseUrl, DATA_DIR: directory, SECRETS_FILE: secretsFile };
      const figures = await Promise.race([killUnderLoad(deployment), options.interrupted]);
      return { ...figures, brokenInvariants: await brokenInvariants(env) };
    } finally {
      await stack.close();
    }
  } finally {
    await receiver.close();
    await postgres.close();
  }
}

/** A deployment that runs, with everything that loads it and checks it. */
interface LoadedDeployment extends ChaosOptions {
  readonly stack: Stack;
  readonly system: PreparedSystem;
  readonly receiver: Receiver;
  readonly ledger: Ledger;
}

/** Kills the components under load, and compares the data with what was acknowledged. */
async function killUnderLoad(deployment: LoadedDeployment): Promise<Omit<ChaosReport, "brokenInvariants">> {
  const { stack, system, receiver, ledger, seconds, killEverySeconds, onProgress } = deployment;
  // A given rate is taken as half of the capacity.
  const capacity = deployment.rate === undefined ? await measureCapacity(deployment) : deployment.rate * 2;
  if (capacity === 0) throw new Error(`${FIRST_RATE} requests/s are too many for this machine at present`);
  onProgress(`capacity: ${capacity} requests/s; ${Math.round(capacity / 2)} from now on`);
  const over = new AbortController();
  const memory = sampleMemory(stack.components, over.signal);
  const workload = load(deployment, "", capacity / 2, PAUSE_SECONDS);
  await sleep(killEverySeconds * 1_000);
  const from = performance.now();
  const kills = await killComponents(deployment, Math.floor(seconds / killEverySeconds));
  const total = figuresOf(ledger.requests.attempts, from);
  onProgress("the load ends; what is there is compared with what was promised");
  over.abort();
  await workload.stop();
  const report = await verifyWorkload({ base: stack.directUrl, partnerKeys: system.partnerKeys, ledger, receiver });
  return { isRolling: deployment.isRolling, capacity, kills, total, memory: await memory, workload: report };
}

/** Raises the rate step by step. @returns the requests a second of the last step that succeeded; 0: none did */
async function measureCapacity(deployment: LoadedDeployment): Promise<number> {
  await loadAt(deployment, "warm-up", FIRST_RATE);
  let capacity = 0;
  for (let rate = FIRST_RATE; ; rate = Math.round(rate * RATE_STEP)) {
    // Measures a failed step once more, because another process may have slowed it down.
    const sent = (await loadAt(deployment, `first-${rate}`, rate)) ?? (await loadAt(deployment, `again-${rate}`, rate));
    if (sent === undefined) return capacity;
    capacity = sent;
  }
}

/**
 * Loads the service at a rate. @returns the requests a second that the clients sent; undefined if the service does not
 * answer this rate in time
 */
async function loadAt(deployment: LoadedDeployment, name: string, rate: number): Promise<number | undefined> {
  const workload = load(deployment, `${name}-`, rate, CAPACITY_PAUSE_SECONDS);
  await sleep(WARM_UP_MS);
  const from = performance.now();
  await sleep(STEP_MS);
  const { requests, p99Ms, errors } = figuresOf(deployment.ledger.requests.attempts, from, from + STEP_MS);
  await workload.stop();
  const sent = Math.round(requests / (STEP_MS / 1_000));
  deployment.onProgress(`${rate} requests/s asked for: ${sent} sent, p99 ${p99Ms} ms ${JSON.stringify(errors)}`);
  return sent >= rate * MIN_SENT_SHARE && p99Ms < MAX_P99_MS ? sent : undefined;
}

/**
 * Starts clients that together send `requestsPerSecond`. Each waits for its response, and then for a pause.
 * @param prefix what the clients' names begin with, so that each load has other clients
 */
function load(
  { stack, system, ledger, seed }: LoadedDeployment,
  prefix: string,
  requestsPerSecond: number,
  pauseSeconds: number,
): Workload {
  const clients = Math.min(MAX_CLIENTS, requestsPerSecond * pauseSeconds);
  return startWorkload({
    base: stack.balancer.url,
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

/** Kills or restarts one component after the other, in a random order in which each component comes equally often. */
async function killComponents(deployment: LoadedDeployment, count: number): Promise<Kill[]> {
  const { stack, ledger, seed, killEverySeconds, isRolling, onProgress } = deployment;
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
    const figures = figuresOf(ledger.requests.attempts, from);
    kills.push({ name: component.name, kind: component.kind, backMs, figures });
    const { errors, longestGapMs, p50Ms, p99Ms } = figures;
    const gaps = `gaps ${longestGapMs.read} and ${longestGapMs.write} ms`;
    onProgress(
      `${n + 1} ${component.name}: back in ${backMs} ms; ${gaps}; p50 ${p50Ms}, p99 ${p99Ms} ms; ${JSON.stringify(errors)}`,
    );
  }
  return kills;
}

/** Samples the memory of components until the signal is aborted. */
async function sampleMemory(components: readonly Component[], signal: AbortSignal): Promise<MemorySeries[]> {
  const series = components.map(({ name }) => ({ name, samples: [] as number[] }));
  while (!signal.aborted) {
    for (const [index, component] of components.entries()) {
      const used = await Promise.all((await component.pids()).map((pid) => memoryMiB(pid, "RssAnon")));
      // A process that has ended meanwhile has NaN.
      const sum = used.reduce((total, each) => total + (each || 0), 0);
      // A sum of 0 is left out: the component was just killed.
      if (sum > 0) series[index]?.samples.push(Math.round(sum));
    }
    await sleep(MEMORY_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  return series;
}
