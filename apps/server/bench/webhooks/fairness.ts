import { setTimeout as wait } from "node:timers/promises";
import { openListener } from "../../src/db/listener.ts";
import { statement } from "../../src/db/statement.ts";
import { recordEvents } from "../../src/events/outbox.ts";
import { createPartner } from "../../src/partners/service.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import type { SecretSealer } from "../../src/webhooks/endpoints/secret.ts";
import { dispatcherFor } from "./ours.ts";
import { enqueue, waitingDeliveries, type World } from "./world.ts";

/** The one among many that answers. */
export interface Healthy {
  readonly endpointId: string;
  /** Of its receiver; GET /arrivals gives what came. */
  readonly url: string;
}

/** Makes a partner whose endpoint wants another event than all the others. */
export async function addHealthy(world: World, sealer: SecretSealer, url: string): Promise<Healthy> {
  const { db, ids, systemId } = world;
  const context = { db, ids, clock: () => Date.now(), actor: "bench" };
  const rules = { allowNetworks: ["127.0.0.0/8"], allowPorts: [{ from: 1, to: 65_535 }] };
  const { id: partnerId } = await createPartner(context, systemId, "Healthy");
  const { endpoint } = await setEndpoint(
    { ...context, sealer, rules },
    { systemId, partnerId, url: `${url}/hooks`, events: ["ride.started"] },
  );
  return { endpointId: endpoint.id, url };
}

export interface Phase {
  readonly backlog: number;
  readonly perSecond: number;
  readonly seconds: number;
}

const forget = statement("fairness.forget", "delete from webhook_due where system_id = $1 and endpoint_id <> $2");

/** Milliseconds from commit to receipt at the healthy endpoint, while so many deliveries wait for the others. */
export async function measurePhase(
  world: World,
  sealer: SecretSealer,
  healthy: Healthy,
  { backlog, perSecond, seconds }: Phase,
): Promise<number[]> {
  await world.db.query(forget, [world.systemId, healthy.endpointId]);
  if (backlog > 0) await enqueue(world, backlog / world.endpoints);
  if ((await waitingDeliveries(world)) !== backlog) throw new Error("the backlog is not what was asked for");
  const dispatcher = dispatcherFor(world, sealer);
  const listener = openListener({
    connectionString: world.db.connectionString,
    on: { new_events: (systemId) => dispatcher.wake(systemId) },
    onGap: () => undefined,
  });
  try {
    // Lanes are taken and connections opened before anything is measured.
    await wait(2_000);
    const committed = await trickle(world, perSecond, seconds);
    const arrivals: [body: string, at: number][] = [];
    while (arrivals.length < committed.length) {
      await wait(200);
      arrivals.push(...((await (await fetch(`${healthy.url}/arrivals`)).json()) as typeof arrivals));
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

/** Commits events one by one, evenly. @returns when each was committed, by its number */
async function trickle({ db, ids, systemId, data }: World, perSecond: number, seconds: number): Promise<number[]> {
  const committed: number[] = [];
  const from = performance.now();
  for (let n = 0; n < perSecond * seconds; n++) {
    const early = from + (n * 1000) / perSecond - performance.now();
    if (early > 0) await wait(early);
    const now = new Date();
    const event = {
      name: "ride.started" as const,
      occurredAt: now,
      partnerId: null,
      data: `{"n":${n},${data.slice(1)}`,
    };
    await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
    committed[n] = performance.timeOrigin + performance.now();
  }
  return committed;
}
