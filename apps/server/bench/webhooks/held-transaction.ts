import { setTimeout as wait } from "node:timers/promises";
import { startReceiver } from "@bikeshare/load";
import { openDatabase } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { onPostgres, say } from "../processes.ts";
import { dispatcherFor } from "./ours.ts";
import { CIPHER, enqueue, makeWorld, waitingDeliveries, type World } from "./world.ts";

const SECONDS = Number(process.env["HELD_SECONDS"] ?? 180);
const ENDPOINTS = Number(process.env["HELD_ENDPOINTS"] ?? 50);

/** The deliveries a second in each part of a phase. */
type Rates = readonly number[];

/** The number of parts of a phase. The cost of a held transaction grows with time, so the last parts show it. */
const PARTS = 6;
/**
 * The number of deliveries that always wait, so that the dispatcher is never idle. Too high: the rates also depend on the
 * memory of the machine.
 */
const WAITING = 5_000;

const dead = statement("held.dead", "select n_dead_tup as n from pg_stat_user_tables where relname = 'webhook_queue'");
const snapshot = statement("held.snapshot", "select count(*) from webhook_queue");

/**
 * Measures deliveries a second with and without a transaction that is held open, which keeps PostgreSQL from removing dead
 * rows of the queue. `HELD_SECONDS=180` sets the duration of each phase.
 */
export function heldTransaction(): Promise<void> {
  return onPostgres(async ({ connectionString }) => {
    const receiver = await startReceiver({ origins: ENDPOINTS });
    const world = await makeWorld(connectionString, CIPHER, receiver.urls);
    const phase = async (name: string, seconds: number, isHeld = false) => {
      const { rates, deadRows } = await measureRates(world, { count: receiver.count, seconds, isHeld });
      say(`${name}: ${rates.map(Math.round).join(", ")} deliveries/s, ${deadRows} dead rows at the end`);
      return rates;
    };
    // A warm-up, because tables grow and code is compiled first.
    await phase("warm-up", Math.min(20, SECONDS));
    const before = await phase("free", SECONDS);
    const whileHeld = await phase("held", SECONDS, true);
    const free = [...before, ...(await phase("free again", SECONDS))];
    const [mean, last] = [meanOf(free), whileHeld.at(-1) ?? Number.NaN];
    const noise = (Math.max(...free) / Math.min(...free) - 1) * 100;
    say(
      `${Math.round(mean)}/s free, ${Math.round(meanOf(whileHeld))}/s with a transaction held for ${SECONDS} s, ` +
        `${Math.round(last)}/s in the last ${Math.round(SECONDS / PARTS)} s of it ` +
        `(${((last / mean - 1) * 100).toFixed(0)} %; the free parts differ by ${noise.toFixed(0)} %)`,
    );
    await world.db.close();
    await receiver.close();
  });
}

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}

/**
 * Sends deliveries for `seconds`, while new events are created and, if `isHeld`, a transaction is held open. @param count
 * returns how many deliveries have been received
 */
async function measureRates(
  world: World,
  {
    count,
    seconds,
    isHeld,
  }: { readonly count: () => Promise<number>; readonly seconds: number; readonly isHeld: boolean },
): Promise<{ readonly rates: Rates; readonly deadRows: number }> {
  const release = isHeld ? await holdTransaction(world.db.connectionString) : () => Promise.resolve();
  const dispatcher = dispatcherFor(world, CIPHER);
  const stop = new AbortController();
  const feeding = feed(world, (systemId) => dispatcher.wake(systemId), stop.signal);
  const rates: number[] = [];
  try {
    // Leaves the beginning out of the measurement, until deliveries flow.
    await wait(2_000);
    for (let part = 0; part < PARTS; part++) {
      const [before, from] = [await count(), performance.now()];
      await wait((seconds * 1000) / PARTS);
      rates.push(((await count()) - before) / ((performance.now() - from) / 1000));
    }
    const [row] = await world.db.query<{ n: number }>(dead);
    return { rates, deadRows: row?.n ?? 0 };
  } finally {
    stop.abort();
    await feeding;
    // Sends the rest, so that the next phase begins with an empty queue.
    while ((await waitingDeliveries(world)) > 0) await wait(100);
    await dispatcher.close();
    await release();
  }
}

/** Creates events, so that about `WAITING` deliveries wait at any time, until the signal is aborted. */
async function feed(world: World, wake: (systemId: string) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const missing = WAITING - (await waitingDeliveries(world));
    if (missing > 0) await enqueue(world, Math.ceil(missing / world.endpoints));
    wake(world.systemId);
    await wait(50);
  }
}

/** Holds a transaction open whose snapshot is taken now. PostgreSQL cannot remove rows that are deleted after that. */
async function holdTransaction(connectionString: string): Promise<() => Promise<void>> {
  const db = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  const { promise: over, resolve: release } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const holding = db.transaction(async (tx) => {
    await tx.run("set transaction isolation level repeatable read");
    await tx.query(snapshot);
    begin();
    await over;
  });
  await begun;
  return async () => {
    release();
    await holding;
    await db.close();
  };
}
