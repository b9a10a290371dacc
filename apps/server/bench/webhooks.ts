import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { startServer } from "./processes.ts";
import { bareLoop, type Contestant, graphileWorker, pgBoss } from "./webhooks/contestants.ts";
import { measureLatency } from "./webhooks/latency.ts";
import { ours } from "./webhooks/ours.ts";
import { processorTime } from "./webhooks/processor-time.ts";
import { makeWorld } from "./webhooks/world.ts";

/*
 * Signed deliveries per second to a receiver in a process of its own, PostgreSQL beside it: the service's dispatcher,
 * which logs every attempt with its bytes, against a bare loop without any database and two job queues that POST the same
 * bodies. `pnpm bench webhooks` runs it.
 */
const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 30_000);
const ENDPOINTS = Number(process.env["BENCH_ENDPOINTS"] ?? 50);
/** Only those whose name contains this. */
const WHO = process.env["BENCH_WHO"] ?? "";
const REPETITIONS = Number(process.env["BENCH_ROUNDS"] ?? 3);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 15);

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const receiver = await startServer(join(import.meta.dirname, "webhooks/receiver.ts"), [String(ENDPOINTS)], {});
try {
  const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
  const [url = ""] = urls;
  const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
  const world = await makeWorld(await database("ours"), cipher, urls);
  const far = { urls, secret: `whsec_${"x".repeat(43)}`, data: world.data };
  const contestants: Contestant[] = [
    bareLoop(far),
    ours(world, cipher),
    pgBoss(far, await database("boss")),
    graphileWorker(far, await database("graphile")),
  ].filter(({ name }) => name.includes(WHO));
  const load = loadavg()[0]?.toFixed(2);
  const races = new Map<string, Race[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < REPETITIONS; round++) {
    for (const contestant of contestants) races.get(contestant.name)?.push(await race(contestant, url, world.db));
  }
  process.stdout.write(report(races, load));
  const perSecond = medianOf(races.get("ours") ?? [], "perSecond");
  if (perSecond > 0) {
    const latency = await measureLatency(world, cipher, { perSecond: perSecond / 2, seconds: SECONDS });
    process.stdout.write(`\nFrom commit to receipt at half load: ${JSON.stringify(latency)}\n`);
  }
  await world.db.close();
} finally {
  await receiver.stop();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

/** Makes a database of its own. @returns its address */
async function database(name: string): Promise<string> {
  const db = openDatabase({ connectionString: postgres.connectionString });
  await db.query(statement("", `create database bench_${name}`));
  await db.close();
  const address = new URL(postgres.connectionString);
  address.pathname = `/bench_${name}`;
  return address.href;
}

/** Deliveries a second, and what each took of a processor: microseconds of the user's and the system's. */
interface Race {
  readonly perSecond: number;
  readonly sender: number;
  readonly postgres: number;
  readonly receiver: number;
}

async function race(contestant: Contestant, url: string, db: Database): Promise<Race> {
  await contestant.prepare(DELIVERIES);
  await fetch(`${url}/reset`);
  const before = await processorTime(db, receiver.pid);
  const from = performance.now();
  const running = await contestant.start();
  for (let count = 0; count < DELIVERIES;) {
    await wait(20);
    count = (await (await fetch(`${url}/count`)).json()) as number;
  }
  const seconds = (performance.now() - from) / 1000;
  await running.stop();
  const after = await processorTime(db, receiver.pid);
  return {
    perSecond: DELIVERIES / seconds,
    sender: (after.sender - before.sender) / DELIVERIES,
    postgres: (after.postgres - before.postgres) / DELIVERIES,
    receiver: (after.receiver - before.receiver) / DELIVERIES,
  };
}

function medianOf(races: readonly Race[], what: keyof Race): number {
  const sorted = races.map((each) => each[what]).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function report(races: ReadonlyMap<string, readonly Race[]>, load: string | undefined): string {
  const bare = medianOf(races.get("bare undici") ?? [], "perSecond");
  const lines = [...races].map(([name, all]) => {
    const middle = medianOf(all, "perSecond");
    const rates = all.map(({ perSecond }) => Math.round(perSecond)).join(", ");
    const times = (["sender", "postgres", "receiver"] as const).map((side) => medianOf(all, side));
    const total = times.reduce((sum, time) => sum + time, 0);
    const spent = [...times, total].map((time) => time.toFixed(0)).join(" | ");
    return `| ${name} | ${Math.round(middle)} | ${(middle / bare).toFixed(2)} | ${rates} | ${spent} |`;
  });
  return [
    `${DELIVERIES} deliveries to ${ENDPOINTS} endpoints, ${REPETITIONS} rounds, load ${load} before`,
    "µs: processor time of a delivery, the medians of each side",
    "| who | deliveries/s | of the bare loop | rounds | sender µs | PostgreSQL µs | receiver µs | together µs |",
    "|---|---|---|---|---|---|---|---|",
    ...lines,
    "",
  ].join("\n");
}
