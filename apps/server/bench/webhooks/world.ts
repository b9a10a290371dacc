import { eventData } from "@bikeshare/contract";
import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import { createSystem } from "../../src/city/systems/service.ts";
import { recordEvents } from "../../src/events/outbox.ts";
import { createIds, type Ids } from "../../src/ids.ts";
import { NetworkList } from "../../src/outbound/addresses/network-list.ts";
import { createPartner } from "../../src/partners/service.ts";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { migrate } from "../../src/storage/db/migrate/migrate.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { dailyTables, dayOf } from "../../src/storage/partitions/partition.rules.ts";
import { createPartitions } from "../../src/storage/partitions/service.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import type { SecretCipher } from "../../src/webhooks/endpoints/secret.ts";

/** A deployment whose partners all want one event. */
export interface World {
  readonly db: Database;
  readonly ids: Ids;
  readonly systemId: string;
  readonly endpoints: number;
  /** What a ride's event says. */
  readonly data: string;
}

export async function makeWorld(
  connectionString: string,
  cipher: SecretCipher,
  urls: readonly string[],
): Promise<World> {
  const db = openDatabase({ connectionString, statementTimeoutMs: 0 });
  await migrate(db);
  const clock = () => Date.now();
  // As a worker does first of all: plans differ with the number of partitions.
  for (const table of dailyTables) await createPartitions(db, table, dayOf(clock()));
  const ids = createIds(clock);
  const systemId = "main";
  await createSystem(db, systemId, "Bench", clock());
  const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };
  for (const [i, url] of urls.entries()) {
    const partner = await createPartner({ db, clock, ids, actor: "bench" }, systemId, `Partner ${i}`);
    await setEndpoint(
      { db, clock, ids, actor: "bench", cipher, rules },
      { systemId, partnerId: partner.id, url, events: ["ride.completed"], email: null },
    );
  }
  return { db, ids, systemId, endpoints: urls.length, data: JSON.stringify(exampleRide()) };
}

/** Leaves events in the outbox, a thousand in a transaction. Each makes a delivery for every endpoint. */
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

/** Deliveries that are not done. */
export async function waitingDeliveries({ db, systemId }: World): Promise<number> {
  const [row] = await db.query<{ n: number }>(waiting, [systemId]);
  return row?.n ?? 0;
}

/** The ride that the documents show, checked against the contract. */
function exampleRide() {
  const document = createOpenApiDocument({ baseUrl: "http://localhost", version: "0" });
  const operation = document.webhooks?.["ride.completed"]?.post;
  const example = operation?.requestBody?.content["application/json"]?.examples?.["delivery"]?.value;
  return eventData["ride.completed"].parse((example as { readonly data: unknown }).data);
}
