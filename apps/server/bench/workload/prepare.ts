import { deliveryNames, scopeNames } from "@bikeshare/contract";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { addSystem } from "../../src/city/systems/service.ts";
import { createIds } from "../../src/ids.ts";
import { NetworkList } from "../../src/outbound/addresses/network-list.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { openDatabase } from "../../src/storage/db/database.ts";
import { migrate } from "../../src/storage/db/migrate/migrate.ts";
import { dailyTables, dayOf } from "../../src/storage/partitions/partition.rules.ts";
import { createPartitions } from "../../src/storage/partitions/service.ts";
import { loadSecrets } from "../../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import type { Receiver } from "./receiver.ts";

/** A system that a workload can run on. */
export interface PreparedSystem {
  readonly operatorKey: string;
  readonly partnerKeys: readonly string[];
  /** Where riders ride, and where partners reserve: apart, so that nobody takes the other's bikes. */
  readonly riderStations: readonly [string, ...string[]];
  readonly holderStations: readonly [string, ...string[]];
  /** One for each rider. */
  readonly riderBikes: readonly string[];
}

export interface PrepareOptions {
  readonly databaseUrl: string;
  /** The services' `SECRETS_FILE`. */
  readonly secretsFile: string;
  readonly receiver: Receiver;
  readonly riders: number;
  readonly holders: number;
  readonly partners?: number;
  /** Default: `main`. */
  readonly systemId?: string;
}

const STATIONS_OF_EACH = 8;
/** For one that reserves. Fewer, and many reservations are refused. */
const BIKES_FOR_A_HOLDER = 3;
const NO_LIMIT = 1_000_000;

/** Migrates the database and makes a system, partners with keys and webhooks, stations and bikes. */
export async function prepareSystem(options: PrepareOptions): Promise<PreparedSystem> {
  const { databaseUrl, secretsFile, receiver, riders, holders, partners = 2, systemId = "main" } = options;
  const clock = () => Date.now();
  const db = openDatabase({ connectionString: databaseUrl, statementTimeoutMs: 0 });
  try {
    await migrate(db);
    // As a worker does first of all, so that no day has to stay in the default partition.
    for (const table of dailyTables) await createPartitions(db, table, dayOf(clock()));
    const ids = createIds(clock);
    const context = { db, clock, ids, actor: "workload" };
    await addSystem(context, systemId, "Workload");
    const common = { systemId, rateLimit: NO_LIMIT };
    const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
    const rules = { allowNetworks: new NetworkList(["127.0.0.0/8"]), allowPorts: [{ from: 1, to: 65_535 }] };
    const secretContext = { ...context, cipher: createSecretCipher(webhookKeys), rules };
    const partnerKeys: string[] = [];
    const secrets: string[] = [];
    for (let n = 0; n < partners; n++) {
      const { id: partnerId } = await createPartner(context, systemId, `Partner ${n}`, { maxReservations: NO_LIMIT });
      partnerKeys.push((await issueKey(context, { ...common, kind: "live", partnerId, scopes: scopeNames })).key);
      const events = deliveryNames.filter((name) => name !== "station.updated" && name !== "bike.state_changed");
      const url = `${receiver.base}/hooks/${n}`;
      const { secret } = await setEndpoint(secretContext, { systemId, partnerId, url, events, email: null });
      secrets.push(secret ?? "");
    }
    receiver.useSecrets(secrets);
    const { key: operatorKey } = await issueKey(context, { ...common, kind: "operator", partnerId: null, scopes: [] });
    const riderStations = numbered("rider-station", STATIONS_OF_EACH);
    const holderStations = numbered("holder-station", STATIONS_OF_EACH);
    const stations = [...riderStations, ...holderStations];
    await upsertStations(
      context,
      systemId,
      stations.map((id) => ({ item: { id, name: id, lat: 1, lon: 2 } })),
    );
    const riderBikes = Array.from({ length: riders }, (_, n) => `rider-bike-${n}`);
    const holderBikes = Array.from({ length: holders * BIKES_FOR_A_HOLDER }, (_, n) => `holder-bike-${n}`);
    const standing = (bikes: readonly string[], at: readonly string[]) =>
      bikes.map((id, n) => ({
        item: { id, station_id: at[n % at.length] ?? "", vehicle_state: "available" as const },
      }));
    await upsertBikes(context, systemId, [
      ...standing(riderBikes, riderStations),
      ...standing(holderBikes, holderStations),
    ]);
    return { operatorKey, partnerKeys, riderStations, holderStations, riderBikes };
  } finally {
    await db.close();
  }
}

function numbered(name: string, count: number): [string, ...string[]] {
  return [`${name}-0`, ...Array.from({ length: count - 1 }, (_, n) => `${name}-${n + 1}`)];
}
