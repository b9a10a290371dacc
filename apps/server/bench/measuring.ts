import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createHttpClient, type HttpClient, median, percentile } from "@bikeshare/load";
import { findFreePort, makeDatabaseDirectory } from "@bikeshare/test-kit";
import { MAIN } from "./processes.ts";

// What it costs to measure requests: processor time of the answering process by request, with each measurement on, beside
// the same with all of them off. The turns of one repetition take some milliseconds each and follow each other in an order of
// chance, and each is compared with the one of its own repetition: what else happens on the machine is then the same for both.

const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 600);
const WARM_UP_REPETITIONS = 30;
/**
 * Requests in one turn. Too low: reading the processor time distorts the result. Too high: the compared turns lie far
 * apart in time.
 */
const REQUESTS_OF_A_TURN = 64;
const CONNECTIONS = 16;
const DEMO_MS = 4_000;
const NEEDED_BYTES = 2 * 1024 ** 3;
const paths = { stations: "/v1/stations?limit=50", rides: "/v1/rides?limit=50" };

const source = "--conditions=@bikeshare/source";
const dataDir = await makeDatabaseDirectory("bikeshare-measuring-", NEEDED_BYTES);
const variants: Record<string, Record<string, string>> = {
  off: { SLOW_REQUEST_MS: "0" },
  "off again": { SLOW_REQUEST_MS: "0" },
  metrics: { SLOW_REQUEST_MS: "0", METRICS_PORT: String(await findFreePort()) },
  "metrics and slow log": { SLOW_REQUEST_MS: "1000", METRICS_PORT: String(await findFreePort()) },
};
const env = {
  ...process.env,
  ...{ DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "error", DRAIN_DELAY: "0s" },
  ...{ RATE_LIMIT_PER_MINUTE: "1000000", PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000" },
};
let services: ChildProcess | undefined;
try {
  await makeCity();
  services = fork(join(import.meta.dirname, "measuring/services.process.ts"), [JSON.stringify(variants)], {
    env,
    // A heap that is as large from the beginning as it will be.
    execArgv: [source, "--max-semi-space-size=16", "--min-semi-space-size=16"],
  });
  const [urls] = (await once(services, "message")) as [Record<string, string>];
  const key = (await readFile(join(dataDir, "demo-key"), "utf8")).trim();
  for (const [name, path] of Object.entries(paths)) printRatios(name, await measure(services, urls, path, key));
} finally {
  if (services !== undefined && services.exitCode === null) {
    services.kill("SIGTERM");
    await once(services, "exit");
  }
  await rm(dataDir, { recursive: true, force: true });
}

/** A demo city with some rides. */
async function makeCity(): Promise<void> {
  const demo = spawn(process.execPath, [source, MAIN, "start"], { env, stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(demo, "exit");
  for await (const line of createInterface({ input: demo.stdout })) if (line.startsWith("Ctrl-C")) break;
  demo.stdout.resume();
  await sleep(DEMO_MS);
  demo.kill("SIGTERM");
  await exited;
}

/** Microseconds of processor time by request, of each repetition. */
async function measure(child: ChildProcess, urls: Record<string, string>, path: string, key: string) {
  const costs = Object.fromEntries(Object.keys(urls).map((name) => [name, [] as number[]]));
  const clients = Object.entries(urls).map(([name, base]): [string, HttpClient] => [
    name,
    createHttpClient(base, { connections: CONNECTIONS, keepsBodies: false }),
  ]);
  const used = async () => {
    child.send("cpu");
    return ((await once(child, "message")) as [number])[0];
  };
  for (let repetition = -WARM_UP_REPETITIONS; repetition < REPETITIONS; repetition++) {
    for (const [name, client] of shuffled(clients)) {
      const before = await used();
      const answers = await Promise.all(Array.from({ length: REQUESTS_OF_A_TURN }, () => client.ask({ path, key })));
      if (answers.some(({ status }) => status !== 200)) throw new Error(`${name}: ${path} was not answered 200`);
      const cost = ((await used()) - before) / REQUESTS_OF_A_TURN;
      if (repetition >= 0) costs[name]?.push(cost);
    }
  }
  for (const [, client] of clients) client.close();
  return costs;
}

function printRatios(path: string, { off = [], ...others }: Record<string, number[]>): void {
  process.stdout.write(`${path}: ${median(off).toFixed(1)} µs a request with all of it off\n`);
  for (const [name, costs] of Object.entries(others)) {
    const ratios = costs.map((cost, repetition) => cost / (off[repetition] ?? NaN));
    const [low = 0, high = 0] = interval(ratios);
    const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`;
    process.stdout.write(`  ${name}: ${percent(median(ratios))} more (${percent(low)} to ${percent(high)})\n`);
  }
}

/** Of the median, 95 %: by drawing as many rounds again and again. */
function interval(ratios: readonly number[]): number[] {
  const draw = () => median(ratios.map(() => ratios[Math.floor(Math.random() * ratios.length)] ?? NaN));
  const medians = Array.from({ length: 2_000 }, draw);
  return [percentile(medians, 0.025), percentile(medians, 0.975)];
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
