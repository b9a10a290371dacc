import { setTimeout as wait } from "node:timers/promises";
import { cpuMicroseconds, median, type ReceiverProcess, startReceiver } from "@bikeshare/load";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { postgresMicroseconds } from "../postgres-time.ts";
import { onPostgres, say } from "../processes.ts";
import { bareLoop, type Contestant, graphileWorker, pgBoss, senderAlone } from "./contestants.ts";
import { measureLatency } from "./delays.ts";
import { ours } from "./ours.ts";
import { CIPHER, makeWorld } from "./world.ts";

/*
 * `pnpm bench webhooks`: the race of the service's dispatcher against other ways to send the same deliveries (`race`),
 * and `pnpm bench webhooks endpoints`: the dispatcher with more and more endpoints (`byEndpoints`). A `world` is a
 * deployment with partners' endpoints in a new database.
 */

/** Deliveries that each contestant of `race` sends in a round. */
const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 30_000);
const ENDPOINTS = Number(process.env["BENCH_ENDPOINTS"] ?? 50);
/** Runs only the contestants whose name contains this. */
const WHO = process.env["BENCH_WHO"] ?? "";
const REPETITIONS = Number(process.env["BENCH_ROUNDS"] ?? 3);
/** Duration of the measurement of the delay. */
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 15);
/** The numbers of endpoints that `byEndpoints` compares, and the deliveries for each. */
const ENDPOINT_COUNTS = (process.env["ENDPOINT_COUNTS"] ?? "1,10,100,1000").split(",").map(Number);
const ENDPOINT_DELIVERIES = Number(process.env["ENDPOINT_DELIVERIES"] ?? 10_000);

/** Deliveries per second, and the processor time of each: microseconds in user and system mode. */
interface Race {
  readonly perSecond: number;
  readonly sender: number;
  readonly postgres: number;
  readonly receiver: number;
}

/** The sides whose processor time is measured. */
const SIDES = ["sender", "postgres", "receiver"] as const;

/**
 * Compares the service's dispatcher, which logs every attempt with its bytes, with a bare loop without a database, the
 * service's sender alone, and two job queues that POST the same bodies. Then measures the delay at half the rate.
 */
export function race(): Promise<void> {
  return onPostgres(async ({ connectionString }) => {
    const receiver = await startReceiver({ origins: ENDPOINTS });
    const { urls } = receiver;
    const world = await makeWorld(await newDatabase(connectionString, "ours"), CIPHER, urls);
    const targets = { urls, secret: `whsec_${"x".repeat(43)}`, data: world.data };
    const contestants: Contestant[] = [
      bareLoop(targets),
      senderAlone(targets),
      ours(world, CIPHER),
      pgBoss(targets, await newDatabase(connectionString, "boss")),
      graphileWorker(targets, await newDatabase(connectionString, "graphile")),
    ].filter(({ name }) => name.includes(WHO));
    const races = new Map<string, Race[]>(contestants.map(({ name }) => [name, []]));
    for (let round = 0; round < REPETITIONS; round++) {
      for (const contestant of contestants)
        races.get(contestant.name)?.push(await runRace(contestant, DELIVERIES, receiver, world.db));
    }
    report(races);
    const perSecond = medianOf(races.get("ours") ?? [], "perSecond");
    if (perSecond > 0) {
      const latency = await measureLatency(world, { perSecond: perSecond / 2, seconds: SECONDS });
      say(`\nFrom commit to receipt at half load: ${latency}`);
    }
    await world.db.close();
    await receiver.close();
  });
}

/** Measures the cost of a delivery as the number of endpoints grows, each a separate origin. */
export function byEndpoints(): Promise<void> {
  return onPostgres(async ({ connectionString }) => {
    const measure = async (endpoints: number) => {
      const receiver = await startReceiver({ origins: endpoints });
      const address = await newDatabase(connectionString, String(endpoints));
      const world = await makeWorld(address, CIPHER, receiver.urls);
      const result = await runRace(ours(world, CIPHER), ENDPOINT_DELIVERIES, receiver, world.db);
      await world.db.close();
      await receiver.close();
      return [result.perSecond, ...SIDES.map((side) => result[side])].map((value) => value.toFixed(0)).join(" | ");
    };
    say(`${ENDPOINT_DELIVERIES} deliveries; µs of processor time of a delivery`);
    say("| endpoints | deliveries/s | sender µs | PostgreSQL µs | receiver µs |\n|---|---|---|---|---|");
    // The first measurement is a warm-up.
    await measure(50);
    for (const endpoints of ENDPOINT_COUNTS) say(`| ${endpoints} | ${await measure(endpoints)} |`);
  });
}

/** Creates a database. @returns its address */
async function newDatabase(connectionString: string, name: string): Promise<string> {
  const db = openDatabase({ connectionString });
  await db.query(statement("", `create database bench_${name}`));
  await db.close();
  const address = new URL(connectionString);
  address.pathname = `/bench_${name}`;
  return address.href;
}

/** Lets a contestant send deliveries, until the receiver has counted all of them. @param db any database of the server */
async function runRace(
  contestant: Contestant,
  deliveries: number,
  receiver: ReceiverProcess,
  db: Database,
): Promise<Race> {
  const used = async () => {
    const { user, system } = process.cpuUsage();
    const [postgres, ofReceiver] = [await postgresMicroseconds(db), await cpuMicroseconds(receiver.pid)];
    return { sender: user + system, postgres, receiver: ofReceiver };
  };
  await contestant.prepare(deliveries);
  await receiver.begin();
  const before = await used();
  const from = performance.now();
  const running = await contestant.start();
  while ((await receiver.count()) < deliveries) await wait(20);
  const seconds = (performance.now() - from) / 1000;
  await running.stop();
  const after = await used();
  const spent = (side: (typeof SIDES)[number]) => (after[side] - before[side]) / deliveries;
  const [sender, postgres, ofReceiver] = [spent("sender"), spent("postgres"), spent("receiver")];
  return { perSecond: deliveries / seconds, sender, postgres, receiver: ofReceiver };
}

function medianOf(races: readonly Race[], what: keyof Race): number {
  return races.length === 0 ? 0 : median(races.map((each) => each[what]));
}

/** Prints the medians of all rounds. */
function report(races: ReadonlyMap<string, readonly Race[]>): void {
  const bare = medianOf(races.get("bare undici") ?? [], "perSecond");
  say(`${DELIVERIES} deliveries to ${ENDPOINTS} endpoints, ${REPETITIONS} rounds`);
  say("µs: processor time of a delivery, the medians of each side");
  say("| who | deliveries/s | of the bare loop | rounds | sender µs | PostgreSQL µs | receiver µs | together µs |");
  say("|---|---|---|---|---|---|---|---|");
  for (const [name, all] of races) {
    const middle = medianOf(all, "perSecond");
    const rates = all.map(({ perSecond }) => Math.round(perSecond)).join(", ");
    const times = SIDES.map((side) => medianOf(all, side));
    const total = times.reduce((sum, time) => sum + time, 0);
    const spent = [...times, total].map((time) => time.toFixed(0)).join(" | ");
    say(`| ${name} | ${Math.round(middle)} | ${(middle / bare).toFixed(2)} | ${rates} | ${spent} |`);
  }
}
