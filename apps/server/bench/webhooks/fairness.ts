import { NetworkList } from "../../src/outbound/addresses/network-list.ts";
import { createPartner } from "../../src/partners/service.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { measureDelays } from "./delays.ts";
import { enqueue, waitingDeliveries, type World } from "./world.ts";

/** The one among many that answers. */
export interface Healthy {
  readonly endpointId: string;
  /** Of its receiver; GET /arrivals gives what came. */
  readonly url: string;
}

/** Makes a partner whose endpoint wants another event than all the others. */
export async function addHealthy(world: World, cipher: SecretCipher, url: string): Promise<Healthy> {
  const { db, ids, systemId } = world;
  const context = { db, ids, clock: () => Date.now(), actor: "bench" };
  const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };
  const { id: partnerId } = await createPartner(context, systemId, "Healthy");
  const { endpoint } = await setEndpoint(
    { ...context, cipher, rules },
    { systemId, partnerId, url: `${url}/hooks`, events: ["ride.started"] },
  );
  return { endpointId: endpoint.id, url };
}

export interface Phase {
  readonly backlog: number;
  readonly perSecond: number;
  readonly seconds: number;
}

const forget = statement("fairness.forget", "delete from webhook_queue where system_id = $1 and endpoint_id <> $2");

/** Milliseconds from commit to receipt at the healthy endpoint, while so many deliveries wait for the others. */
export async function measurePhase(
  world: World,
  cipher: SecretCipher,
  healthy: Healthy,
  { backlog, perSecond, seconds }: Phase,
): Promise<number[]> {
  await world.db.query(forget, [world.systemId, healthy.endpointId]);
  if (backlog > 0) await enqueue(world, backlog / world.endpoints);
  if ((await waitingDeliveries(world)) !== backlog) throw new Error("the backlog is not what was asked for");
  const load = {
    event: "ride.started",
    events: perSecond * seconds,
    seconds,
    deliveries: 1,
    url: healthy.url,
  } as const;
  return measureDelays(world, cipher, load);
}
