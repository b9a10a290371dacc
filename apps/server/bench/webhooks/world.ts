import { eventData } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { recordEvents } from "../../src/events/outbox.ts";
import type { Ids } from "../../src/ids.ts";
import { createPartner } from "../../src/partners/service.ts";
import type { Database } from "../../src/storage/db/database.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher, type SecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { LOOPBACK_RULES, openNewSystem, SYSTEM_ID } from "../provision.ts";

/** Encrypts the secrets in benches where no other process reads them. */
export const CIPHER: SecretCipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);

/** A deployment with partners' endpoints. */
export interface World {
  readonly db: Database;
  readonly ids: Ids;
  readonly systemId: string;
  /** The number of endpoints that `makeWorld` created. All of them subscribe to `ride.completed`. */
  readonly endpoints: number;
  /** The data of a ride's event, as JSON. */
  readonly data: string;
}

/** Creates a system on an empty database, with a partner and an endpoint for each URL. */
export async function makeWorld(
  connectionString: string,
  cipher: SecretCipher,
  urls: readonly string[],
): Promise<World> {
  const context = await openNewSystem(connectionString);
  const { db, ids } = context;
  const world = { db, ids, systemId: SYSTEM_ID, endpoints: urls.length, data: JSON.stringify(exampleRide()) };
  for (const [i, url] of urls.entries()) await addEndpoint(world, cipher, `Partner ${i}`, url, "ride.completed");
  return world;
}

/** Creates a partner with an endpoint that subscribes to an event. @returns the endpoint's id */
export async function addEndpoint(
  { db, ids, systemId }: World,
  cipher: SecretCipher,
  name: string,
  url: string,
  event: "ride.started" | "ride.completed",
): Promise<string> {
  const context = { db, ids, clock: () => Date.now(), actor: "bench", cipher, rules: LOOPBACK_RULES };
  const { id: partnerId } = await createPartner(context, systemId, name);
  const { endpoint } = await setEndpoint(context, { systemId, partnerId, url, events: [event], email: null });
  return endpoint.id;
}

/**
 * Writes events to the outbox, a thousand in each transaction. Each makes a delivery for every one of
 * `world.endpoints`.
 */
export async function enqueue({ db, ids, systemId, data }: World, events: number): Promise<void> {
  for (let left = events; left > 0; left -= 1000) {
    const batch = Array.from({ length: Math.min(left, 1000) }, () => ({
      name: "ride.completed" as const,
      occurredAt: new Date(),
      partnerId: null,
      data,
    }));
    await db.transaction((tx) => recordEvents(tx, { ids, systemId, now: new Date() }, batch));
  }
}

const waiting = statement("bench.waiting", "select count(*) as n from webhook_queue where system_id = $1");

/** Returns the number of deliveries that are still in the queue. */
export async function waitingDeliveries({ db, systemId }: World): Promise<number> {
  const [row] = await db.query<{ n: number }>(waiting, [systemId]);
  return row?.n ?? 0;
}

/** Returns the example ride of the OpenAPI document, checked against the contract. */
function exampleRide() {
  const document = createOpenApiDocument({ baseUrl: "http://localhost", version: "0" });
  const operation = document.webhooks?.["ride.completed"]?.post;
  const example = operation?.requestBody?.content["application/json"]?.examples?.["delivery"]?.value;
  return eventData["ride.completed"].parse((example as { readonly data: unknown }).data);
}
