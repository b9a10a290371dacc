import { setTimeout as wait } from "node:timers/promises";
import { openDatabase } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { dispatcherFor } from "./ours.ts";
import { enqueue, waitingDeliveries, type World } from "./world.ts";

/** Deliveries a second, of each of a phase's parts in turn. */
export type Rates = readonly number[];

/** Parts of a phase: what a held transaction costs grows with time, and shows in the last ones. */
const PARTS = 6;
/** Deliveries that always wait, so that the dispatcher never idles. More only make the machine's memory part of it. */
const WAITING = 5_000;

const dead = statement("held.dead", "select n_dead_tup as n from pg_stat_user_tables where relname = 'webhook_queue'");
const snapshot = statement("held.snapshot", "select count(*) from webhook_queue");

/** Sends for so long, while events keep coming. @param countUrl says how many deliveries have been received */
export async function measureRates(
  world: World,
  cipher: SecretCipher,
  { countUrl, seconds, held }: { readonly countUrl: string; readonly seconds: number; readonly held: boolean },
): Promise<{ readonly rates: Rates; readonly deadRows: number }> {
  const received = async () => (await (await fetch(countUrl)).json()) as number;
  const release = held ? await holdTransaction(world.db.connectionString) : () => Promise.resolve();
  const dispatcher = dispatcherFor(world, cipher);
  const stop = new AbortController();
  const feeding = feed(world, (systemId) => dispatcher.wake(systemId), stop.signal);
  const rates: number[] = [];
  try {
    await wait(2_000);
    for (let part = 0; part < PARTS; part++) {
      const [before, from] = [await received(), performance.now()];
      await wait((seconds * 1000) / PARTS);
      rates.push(((await received()) - before) / ((performance.now() - from) / 1000));
    }
    const [row] = await world.db.query<{ n: number }>(dead);
    return { rates, deadRows: row?.n ?? 0 };
  } finally {
    stop.abort();
    await feeding;
    while ((await waitingDeliveries(world)) > 0) await wait(100);
    await dispatcher.close();
    await release();
  }
}

async function feed(world: World, wake: (systemId: string) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const missing = WAITING - (await waitingDeliveries(world));
    if (missing > 0) await enqueue(world, Math.ceil(missing / world.endpoints));
    wake(world.systemId);
    await wait(50);
  }
}

/** Holds a transaction open that sees the database as it is now: nothing that dies from now on can be cleared away. */
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
