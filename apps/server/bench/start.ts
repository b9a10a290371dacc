import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicroseconds, createHttpClient, descendantsOf, median, memoryMiB, saturate } from "@bikeshare/load";
import { findFreePort } from "@bikeshare/test-kit";
import { z } from "zod";
import { describeMachine, inDirectory, say } from "./processes.ts";

/*
 * Measures the time from the start of the process to the first 200 of /readyz, and the memory, both with the embedded
 * PostgreSQL: `pnpm bench start`. Uses only loopback and temporary directories, and ends only processes that it has started.
 * Runs only on Linux, because it reads /proc.
 */

const MANIFEST = join(import.meta.dirname, "../../../package.json");
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 5);
/** Time for which the service is at rest before its memory is measured. 0: does not measure memory. */
const IDLE_SECONDS = Number(process.env["BENCH_IDLE_SECONDS"] ?? 10);
const LOAD_SECONDS = Number(process.env["BENCH_LOAD_SECONDS"] ?? 15);
/** Requests at once under load. */
const CONNECTIONS = 32;
/** The past of the demo city is complete once no page of rides was added for this time. Too low: a slow day is missed. */
const PAST_INTERVAL_MS = 5_000;
/** After this time a start counts as failed. */
const READY_TIMEOUT_MS = 60_000;
const manifest = z
  .object({ scripts: z.object({ bikeshare: z.string() }) })
  .parse(JSON.parse(await readFile(MANIFEST, "utf8")));
/** The options of Node.js and the program, as `pnpm bikeshare` runs them after the word `node`. */
const [, ...NODE_ARGUMENTS] = manifest.scripts.bikeshare.split(" ");

/** The paths that are read under load. */
const PATHS = [
  "/v1/stations?limit=200",
  "/v1/rides?limit=50",
  "/v1/rides?limit=200&page=100",
  "/v1/bikes?limit=200",
  "/v1/events?limit=200",
  "/v1/rides?status=completed&limit=50",
  "/v1/me",
  "/gbfs/2.3/gbfs.json",
  "/gbfs/3.0/vehicle_status.json",
  "/openapi.json",
];

/** No rate limit affects the readers, and a stop does not wait for a load balancer. */
const SETTINGS = {
  DRAIN_DELAY: "0s",
  LOG_LEVEL: "error",
  RATE_LIMIT_PER_MINUTE: "1000000",
  PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000",
};

const times = new Map<string, { readonly wall: number; readonly cpu: number }[]>();
/** For the pid of each running process, the function that ends it. */
const running = new Map<number, () => Promise<void>>();
try {
  await inDirectory(async (directory) => {
    say(describeMachine());
    for (let round = 1; round <= REPETITIONS; round++) await measureStarts(join(directory, `round-${round}`));
    for (const [name, all] of times) {
      const walls = all.map(({ wall }) => Math.round(wall));
      const cpu = Math.round(median(all.map((each) => each.cpu)));
      say(`${name}: median ${median(walls)} ms of ${walls.join(", ")}; processor ${cpu} ms`);
    }
    if (IDLE_SECONDS > 0) await measureMemory(join(directory, "memory"));
  });
} finally {
  for (const kill of running.values()) await kill();
}

/** Starts and ends both commands in several ways. @param dataDir an empty directory */
async function measureStarts(dataDir: string): Promise<void> {
  await (await launch("serve", "first start of serve", dataDir)).stop();
  const warm = await launch("serve", "warm start of serve", dataDir);
  await warm.kill();
  await (await launch("serve", "serve after kill -9", dataDir)).stop();
  const demo = `${dataDir}-demo`;
  const first = await launch("start", "first start of start (with its demo city)", demo);
  await first.kill();
  // PostgreSQL recovers what was written since the last checkpoint.
  await (await launch("start", "start after kill -9 right after it", demo)).stop();
  await (await launch("start", "warm start of start", demo)).stop();
}

/** A running command. */
interface Running {
  readonly pid: number;
  readonly base: string;
  /** Stops the process gracefully. */
  stop(): Promise<void>;
  /** Sends SIGKILL to the service and to all its descendants, including PostgreSQL. */
  kill(): Promise<void>;
}

/** Starts a command of the program; records under `name` how long it took to be ready. */
async function launch(command: "serve" | "start", name: string, dataDir: string): Promise<Running> {
  const port = await findFreePort();
  const env = { ...process.env, ...SETTINGS, DATA_DIR: dataDir, PORT: String(port) };
  const begun = performance.now();
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, command], {
    cwd: dirname(MANIFEST),
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${NODE_ARGUMENTS.join(" ")} cannot be started`);
  const base = `http://127.0.0.1:${port}`;
  const kill = async () => {
    running.delete(pid);
    // PostgreSQL has its own session, but it is still a descendant of the service's process.
    for (const each of [pid, ...(await descendantsOf(pid))]) killIfRunning(each);
    await exited;
  };
  running.set(pid, kill);
  const client = createHttpClient(base, { connections: 1 });
  while ((await client.ask({ path: "/readyz" })).status !== 200) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode} before it was ready`);
    if (performance.now() - begun > READY_TIMEOUT_MS) throw new Error(`${command} was not ready in time`);
    await sleep(2);
  }
  const readyAfter = performance.now() - begun;
  client.close();
  times.set(name, [...(times.get(name) ?? []), { wall: readyAfter, cpu: (await cpuMicroseconds(pid)) / 1_000 }]);
  return {
    pid,
    base,
    kill,
    stop: async () => {
      running.delete(pid);
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Sends SIGKILL, unless the process has ended since it was listed. */
function killIfRunning(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Waits until the demo city has its whole past, which `start` writes while it serves. */
async function untilPastIsWritten({ base }: Running, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  const countPages = async () => {
    const answer = await fetch(`${base}/v1/rides?limit=200`, { headers });
    return z.object({ total_pages: z.number() }).parse(await answer.json()).total_pages;
  };
  let before = 0;
  for (let pages = await countPages(); pages !== before; pages = await countPages()) {
    before = pages;
    await sleep(PAST_INTERVAL_MS);
  }
}

/**
 * Measures the service with the demo city and without simulated rides: its memory at rest and while lists are read, and the
 * responses per second and processor time of the latter.
 */
async function measureMemory(dataDir: string): Promise<void> {
  // `start` makes the demo city and its key; `serve` then serves the city without simulated rides.
  const demo = await launch("start", "start", dataDir);
  const key = (await readFile(join(dataDir, "demo-key"), "utf8")).trim();
  await untilPastIsWritten(demo, key);
  await demo.stop();
  const service = await launch("serve", "serve", dataDir);
  await sleep(IDLE_SECONDS * 1000);
  say(`idle after ${IDLE_SECONDS} s: ${described(await memoryOf(service.pid))}`);
  const cpuBefore = await cpuMicroseconds(service.pid);
  const reading = saturate({ base: service.base, paths: PATHS, keys: [key] }, CONNECTIONS, LOAD_SECONDS);
  let isOver = false;
  let worst: Memory = { node: 0, postgres: 0 };
  const watching = (async () => {
    while (!isOver) {
      const { node, postgres } = await memoryOf(service.pid);
      worst = { node: Math.max(worst.node, node), postgres: Math.max(worst.postgres, postgres) };
      await sleep(250);
    }
  })();
  const { requests, seconds } = await reading.finally(() => (isOver = true));
  await watching;
  const cpu = Math.round(((await cpuMicroseconds(service.pid)) - cpuBefore) / requests);
  say(
    `most under ${CONNECTIONS} readers for ${LOAD_SECONDS} s: ${described(worst)}; ` +
      `${Math.round(requests / seconds)} answers of 200 a second, ${cpu} µs of processor each`,
  );
  await service.stop();
}

/** Memory in MiB. */
interface Memory {
  /** The resident set of the service's process. */
  readonly node: number;
  /** The memory of all PostgreSQL processes. Shared pages are counted once. */
  readonly postgres: number;
}

async function memoryOf(pid: number): Promise<Memory> {
  // The memory of a process that has ended meanwhile is NaN.
  const shares = await Promise.all((await descendantsOf(pid)).map((each) => memoryMiB(each, "Pss")));
  return { node: await memoryMiB(pid), postgres: shares.reduce((sum, share) => sum + (share || 0), 0) };
}

function described({ node, postgres }: Memory): string {
  return `service ${Math.round(node)} MiB, PostgreSQL ${Math.round(postgres)} MiB`;
}
