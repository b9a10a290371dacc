import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openListener } from "../../src/db/listener.ts";
import { statement } from "../../src/db/statement.ts";
import { recordEvents } from "../../src/events/outbox.ts";
import type { SecretSealer } from "../../src/webhooks/endpoints/secret.ts";
import { startServer } from "../processes.ts";
import { dispatcherFor } from "./ours.ts";
import type { World } from "./world.ts";

/** Milliseconds from an event's commit to the receipt of its deliveries. */
export interface Latency {
  readonly deliveries: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
}

const moveTo = statement("bench.moveTo", "update webhook_endpoints set url = $2 where system_id = $1");

/** Commits events one by one, evenly, and asks the receiver when each of their deliveries came. */
export async function measureLatency(
  world: World,
  sealer: SecretSealer,
  load: { readonly perSecond: number; readonly seconds: number },
): Promise<Latency> {
  const receiver = await startServer(join(import.meta.dirname, "receiver.ts"), ["1", "--arrivals"], {});
  const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
  const [url = ""] = urls;
  await world.db.query(moveTo, [world.systemId, `${url}/hooks`]);
  const dispatcher = dispatcherFor(world, sealer);
  const listener = openListener({
    connectionString: world.db.connectionString,
    on: { new_events: (systemId) => dispatcher.wake(systemId) },
    onGap: () => undefined,
  });
  try {
    // Lanes are taken and connections opened before anything is measured.
    await wait(2_000);
    const committed = await commitEvenly(world, load);
    const expected = committed.length * world.endpoints;
    const arrivals: [body: string, at: number][] = [];
    while (arrivals.length < expected) {
      await wait(200);
      arrivals.push(...((await (await fetch(`${url}/arrivals`)).json()) as typeof arrivals));
    }
    const delays = arrivals.map(([body, at]) => {
      const { data } = JSON.parse(body) as { data: { n: number } };
      return at - (committed[data.n] ?? Number.NaN);
    });
    return { perSecond: Math.round(load.perSecond), ...summary(delays) };
  } finally {
    await listener.close();
    await dispatcher.close();
    await receiver.stop();
  }
}

/** @returns when each event was committed, by its number */
async function commitEvenly(world: World, load: { readonly perSecond: number; readonly seconds: number }) {
  const events = Math.floor((load.perSecond * load.seconds) / world.endpoints);
  const between = (load.seconds * 1000) / events;
  const committed: number[] = [];
  const from = performance.now();
  for (let n = 0; n < events; n++) {
    const early = from + n * between - performance.now();
    if (early > 0) await wait(early);
    const event = {
      name: "ride.completed" as const,
      occurredAt: new Date(),
      partnerId: null,
      data: `{"n":${n},${world.data.slice(1)}`,
    };
    await world.db.transaction((tx) =>
      recordEvents(tx, { ids: world.ids, systemId: world.systemId, now: new Date() }, [event]),
    );
    committed[n] = performance.timeOrigin + performance.now();
  }
  return committed;
}

function summary(delays: readonly number[]): Omit<Latency, "perSecond"> {
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN) * 10) / 10;
  return { deliveries: sorted.length, p50: at(0.5), p99: at(0.99), worst: at(1) };
}
