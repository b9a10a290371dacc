import { setTimeout } from "node:timers/promises";
import type { Database } from "../../../src/storage/db/database.ts";
import { statement } from "../../../src/storage/db/statement.ts";
import { until } from "../../until.ts";
import { checkCrashes, type CrashChecks } from "./checks.ts";
import { type CrashWorld, openCrashWorld, type WorkerProcess } from "./world.ts";

export interface CrashOptions {
  /** The number of kills. Every fifth kills PostgreSQL, the others a worker. */
  readonly kills: number;
  /** After this many of the worker kills, the lease expires by itself. After the others, the test ends it. */
  readonly trueLeases: number;
  readonly endpoints: number;
  readonly eventsPerSecond: number;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  readonly onProgress: (line: string) => void;
}

export interface CrashReport extends CrashChecks {
  readonly workerKills: number;
  readonly postgresKills: number;
  /** The number of deliveries that the killed workers had claimed. */
  readonly claimedAtKills: number;
  /**
   * For kills in which the lease expired by itself: seconds until everything that the dead worker had claimed was due again
   * or sent.
   */
  readonly dueAgain: readonly number[];
}

const expireLeases = statement(
  "crash.expire_leases",
  "update webhook_lanes set leased_until = now() - interval '1 ms' where system_id = $1 and worker = $2",
);
const bury = statement("crash.bury", "delete from webhook_workers where system_id = $1 and worker = $2");
const claimedBy = statement(
  "crash.claimedBy",
  `select count(*) as n from webhook_queue due
   join webhook_lanes lane on lane.system_id = $1 and lane.endpoint_id = due.endpoint_id and lane.token = due.claim
   where due.system_id = $1 and lane.worker = $2`,
);
const heldBy = statement(
  "crash.heldBy",
  "select count(*) as n from webhook_lanes where system_id = $1 and worker = $2",
);
const orphaned = statement(
  "crash.orphaned",
  `select count(*) as n from webhook_queue due
   join webhook_lanes lane on lane.system_id = $1 and lane.endpoint_id = due.endpoint_id
   where due.system_id = $1 and due.claim is not null and due.claim <> lane.token`,
);
const queued = statement("crash.queued", "select count(*) as n from webhook_queue where system_id = $1");

async function count(db: Database, query: typeof queued, ...values: string[]): Promise<number> {
  return (await db.query<{ n: number }>(query, ["main", ...values]))[0]?.n ?? 0;
}

/** Kills workers and PostgreSQL under load, lets everything recover, and compares the log with what was received. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const world = await openCrashWorld({ endpoints: options.endpoints, delay: 20 });
  try {
    const workers = [await world.startWorker(), await world.startWorker()];
    await world.startWriter(options.eventsPerSecond);
    const done = await killAll(world, workers, options);
    await world.stopWriter();
    await until(async () => (await count(world.db, queued)) === 0, 120_000);
    await Promise.all(workers.map((worker) => worker.stop()));
    const receipts = await world.receipts();
    const checks = await checkCrashes(world.db, receipts, await world.acknowledged(), options.endpoints);
    return { ...checks, ...done };
  } finally {
    await world.close();
  }
}

async function killAll(world: CrashWorld, workers: WorkerProcess[], options: CrashOptions) {
  const done = { workerKills: 0, postgresKills: 0, claimedAtKills: 0, dueAgain: [] as number[] };
  for (let kill = 1; kill <= options.kills; kill++) {
    await setTimeout(options.random() * 500);
    if (kill % 5 === 3) {
      await world.killPostgres();
      await count(world.db, queued);
      done.postgresKills++;
    } else {
      const waits = done.dueAgain.length < options.trueLeases && isItsTurn(kill, done.dueAgain.length, options);
      await killWorker(world, workers, waits, options, done);
    }
    // Collects the receipts after each kill, so that the receiver need not keep all.
    await world.receipts();
    if (kill % 10 === 0) options.onProgress(`${kill} kills, ${await count(world.db, queued)} queued`);
  }
  return done;
}

/** Tells whether the lease of this kill must expire by itself. These kills are spread evenly over the run. */
function isItsTurn(kill: number, waited: number, { kills, trueLeases }: CrashOptions): boolean {
  return kill >= ((waited + 0.5) * kills) / trueLeases;
}

async function killWorker(
  world: CrashWorld,
  workers: WorkerProcess[],
  waits: boolean,
  { random }: CrashOptions,
  done: { workerKills: number; claimedAtKills: number; dueAgain: number[] },
): Promise<void> {
  const { db } = world;
  const index = random() < 0.5 ? 0 : 1;
  const victim = workers[index];
  if (victim === undefined) throw new Error("there are two workers");
  // Waits until the worker has claimed something, because it may just have been started.
  if (waits) await until(async () => (await count(db, claimedBy, victim.name)) > 0);
  await victim.kill();
  const from = performance.now();
  done.workerKills++;
  done.claimedAtKills += await count(db, claimedBy, victim.name);
  if (waits) {
    const isOver = async () => (await count(db, heldBy, victim.name)) === 0 && (await count(db, orphaned)) === 0;
    await until(isOver);
    done.dueAgain.push((performance.now() - from) / 1000);
  } else {
    // Makes the lease expire at once.
    await db.query(expireLeases, ["main", victim.name]);
    await db.query(bury, ["main", victim.name]);
  }
  workers[index] = await world.startWorker();
}
