import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "@bikeshare/test-kit";
import { z } from "zod";
import { cpuMicroseconds } from "./processes.ts";

/*
 * How long the service takes from its process's start to the first 200 of /readyz, and how much memory it takes, with
 * its own PostgreSQL: `pnpm bench start`. All on loopback, in directories of its own; every process that it starts is
 * ended by its number. Linux alone, for /proc.
 */

const MANIFEST = join(import.meta.dirname, "../../../package.json");
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 5);
const IDLE_SECONDS = Number(process.env["BENCH_IDLE_SECONDS"] ?? 10);
const LOAD_SECONDS = Number(process.env["BENCH_LOAD_SECONDS"] ?? 15);
/** Requests at once under load. */
const CONNECTIONS = 32;
/** After it a start counts as failed. */
const READY_TIMEOUT_MS = 60_000;
/** What `pnpm bikeshare` runs: `node`, its options and the program. */
const manifest = z
  .object({ scripts: z.object({ bikeshare: z.string() }) })
  .parse(JSON.parse(await readFile(MANIFEST, "utf8")));
const [, ...WORDS] = manifest.scripts.bikeshare.split(" ");

/** What is read under load. */
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

/** No limit stands in the way of the readers, and a stop waits for no load balancer. */
const SETTINGS = {
  DRAIN_DELAY: "0s",
  LOG_LEVEL: "error",
  RATE_LIMIT_PER_MINUTE: "1000000",
  PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000",
};

const times = new Map<string, { readonly wall: number; readonly cpu: number }[]>();
/** How what still runs is ended, by its number. */
const running = new Map<number, () => Promise<void>>();
const directory = await mkdtemp(join(tmpdir(), "bikeshare-start-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
try {
  process.stdout.write(`load of the machine before: ${loadavg()[0]?.toFixed(2)}\n`);
  for (let round = 1; round <= REPETITIONS; round++) await measureStarts(join(directory, `round-${round}`));
  for (const [name, all] of times) {
    const walls = all.map(({ wall }) => Math.round(wall));
    const cpu = Math.round(median(all.map((each) => each.cpu)));
    process.stdout.write(`${name}: median ${median(walls)} ms of ${walls.join(", ")}; processor ${cpu} ms\n`);
  }
  if (IDLE_SECONDS > 0) await measureMemory(join(directory, "memory"));
} finally {
  for (const kill of running.values()) await kill();
  await rm(directory, { recursive: true, force: true });
}

async function measureStarts(dataDir: string): Promise<void> {
  await (await start("serve", "first start of serve", dataDir)).stop();
  const warm = await start("serve", "warm start of serve", dataDir);
  await warm.kill();
  await (await start("serve", "serve after kill -9", dataDir)).stop();
  const demo = `${dataDir}-demo`;
  const first = await start("start", "first start of start (with its demo city)", demo);
  await first.kill();
  // What the city wrote since the last checkpoint is recovered.
  await (await start("start", "start after kill -9 right after it", demo)).stop();
  await (await start("start", "warm start of start", demo)).stop();
}

interface Running {
  readonly pid: number;
  readonly base: string;
  /** In order. */
  stop(): Promise<void>;
  /** SIGKILL to the service, PostgreSQL and every other process of theirs at once. */
  kill(): Promise<void>;
}

/** Starts a command of the program; notes under `name` how long it took until it was ready. */
async function start(command: "serve" | "start", name: string, dataDir: string): Promise<Running> {
  const port = await findFreePort();
  const env = { ...process.env, ...SETTINGS, DATA_DIR: dataDir, PORT: String(port) };
  const begun = performance.now();
  const child = spawn(process.execPath, [...WORDS, command], {
    cwd: dirname(MANIFEST),
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${WORDS.join(" ")} cannot be started`);
  const base = `http://127.0.0.1:${port}`;
  const kill = async () => {
    running.delete(pid);
    // PostgreSQL has a session of its own, and is this process's child all the same.
    for (const each of [pid, ...(await descendantsOf(pid))]) process.kill(each, "SIGKILL");
    await exited;
  };
  running.set(pid, kill);
  while ((await statusOf(`${base}/readyz`)) !== 200) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode} before it was ready`);
    if (performance.now() - begun > READY_TIMEOUT_MS) throw new Error(`${command} was not ready in time`);
    await sleep(2);
  }
  const readyAfter = performance.now() - begun;
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

function statusOf(url: string, headers = {}, agent: Agent | false = false): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const request = get(url, { headers, agent }, (response) => {
    response.resume();
    response.once("end", () => resolve(response.statusCode)).once("error", () => resolve(undefined));
  });
  request.once("error", () => resolve(undefined));
  return promise;
}

/** The processes below another, however deep. */
async function descendantsOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => "")),
  );
  const children = lists.join(" ").split(/\s+/).filter(Boolean).map(Number);
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

/** Memory of the service with the demo's city, which does not ride: at rest, and while every list is read. */
async function measureMemory(dataDir: string): Promise<void> {
  await (await start("start", "start", dataDir)).stop();
  const key = (await readFile(join(dataDir, "demo-key"), "utf8")).trim();
  const service = await start("serve", "serve", dataDir);
  await sleep(IDLE_SECONDS * 1000);
  process.stdout.write(`idle after ${IDLE_SECONDS} s: ${described(await memoryOf(service.pid))}\n`);
  const until = performance.now() + LOAD_SECONDS * 1000;
  let answered = 0;
  const cpuBefore = await cpuMicroseconds(service.pid);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const reading = Array.from({ length: CONNECTIONS }, async (_, index) => {
    for (let n = index; performance.now() < until; n++) {
      const path = PATHS[n % PATHS.length] ?? "";
      const status = await statusOf(`${service.base}${path}`, { authorization: `Bearer ${key}` }, agent);
      if (status === 200) answered++;
    }
  });
  let worst = { node: 0, postgres: 0 };
  const watching = (async () => {
    while (performance.now() < until) {
      const { node, postgres } = await memoryOf(service.pid);
      worst = { node: Math.max(worst.node, node), postgres: Math.max(worst.postgres, postgres) };
      await sleep(250);
    }
  })();
  await Promise.all([...reading, watching]);
  const cpu = Math.round(((await cpuMicroseconds(service.pid)) - cpuBefore) / answered);
  process.stdout.write(
    `most under ${CONNECTIONS} readers for ${LOAD_SECONDS} s: ${described(worst)}; ${Math.round(answered / LOAD_SECONDS)} answers of 200 a second, ${cpu} µs of processor each\n`,
  );
  agent.destroy();
  await service.stop();
}

interface Memory {
  /** Bytes resident of the service's process. */
  readonly node: number;
  /** Bytes of all of PostgreSQL's processes; pages that several share are counted once. */
  readonly postgres: number;
}

async function memoryOf(pid: number): Promise<Memory> {
  const below = await descendantsOf(pid);
  const shares = await Promise.all(below.map(async (each) => kibibytes(`/proc/${each}/smaps_rollup`, "Pss")));
  return {
    node: 1024 * (await kibibytes(`/proc/${pid}/status`, "VmRSS")),
    postgres: 1024 * shares.reduce((sum, share) => sum + share, 0),
  };
}

async function kibibytes(file: string, field: string): Promise<number> {
  const text = await readFile(file, "utf8").catch(() => "");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
}

function described({ node, postgres }: Memory): string {
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 ** 2)} MiB`;
  return `service ${mebibytes(node)}, PostgreSQL ${mebibytes(postgres)}`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
