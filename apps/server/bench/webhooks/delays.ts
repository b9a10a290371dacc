import { setTimeout as wait } from "node:timers/promises";
import { recordEvents } from "../../src/events/outbox.ts";
import { openListener } from "../../src/storage/db/listener.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { dispatcherFor } from "./ours.ts";
import type { World } from "./world.ts";

/** Events committed one by one, evenly. */
export interface Trickle {
  readonly event: "ride.started" | "ride.completed";
  readonly events: number;
  readonly seconds: number;
  /** How many deliveries of each event the receiver gets. */
  readonly deliveries: number;
  /** Of the receiver; GET /arrivals gives what came since it was asked last. */
  readonly url: string;
}

/** Milliseconds from an event's commit to the receipt of each of its deliveries. */
export async function measureDelays(world: World, cipher: SecretCipher, load: Trickle): Promise<number[]> {
  const dispatcher = dispatcherFor(world, cipher);
  const listener = openListener({
    connectionString: world.db.connectionString,
    notifier: world.db,
    on: { event_outbox: (systemId) => dispatcher.wake(systemId) },
    onGap: () => undefined,
  });
  try {
    // Lanes are taken and connections opened before anything is measured.
    await wait(2_000);
    const committed = await commitEvenly(world, load);
    const arrivals: [body: string, at: number][] = [];
    while (arrivals.length < committed.length * load.deliveries) {
      await wait(200);
      arrivals.push(...((await (await fetch(`${load.url}/arrivals`)).json()) as typeof arrivals));
    }
    return arrivals.map(([body, at]) => {
      const { data } = JSON.parse(body) as { data: { n: number } };
      return at - (committed[data.n] ?? Number.NaN);
    });
  } finally {
    await listener.close();
    await dispatcher.close();
  }
}

/** @returns when each event was committed, by its number */
async function commitEvenly({ db, ids, systemId, data }: World, { event: name, events, seconds }: Trickle) {
  const between = (seconds * 1000) / events;
  const committed: number[] = [];
  const from = performance.now();
  for (let n = 0; n < events; n++) {
    const early = from + n * between - performance.now();
    if (early > 0) await wait(early);
    const now = new Date();
    const event = { name, occurredAt: now, partnerId: null, data: `{"n":${n},${data.slice(1)}` };
    await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
    committed[n] = performance.timeOrigin + performance.now();
  }
  return committed;
}
