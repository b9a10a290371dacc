import { deliveryNames } from "@bikeshare/contract";
import type { PreparedSystem, Receiver } from "@bikeshare/load";
import { upsertBikes } from "../../src/city/fleet/bike-commands.ts";
import { upsertStations } from "../../src/city/fleet/station-commands.ts";
import { loadSecrets } from "../../src/storage/secrets/secrets.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { LOOPBACK_RULES, makeOperatorKey, makePartner, makeSystem, openContext } from "../provision.ts";

interface PrepareOptions {
  readonly databaseUrl: string;
  /** The services' `SECRETS_FILE`. */
  readonly secretsFile: string;
  readonly receiver: Receiver;
  /** The number of clients that ride. */
  readonly riders: number;
  /** The number of clients that make reservations and hold them for a while. */
  readonly holders: number;
  readonly partners?: number;
  /** Default: `main`. */
  readonly systemId?: string;
}

/** The names of all events, without the two notices. */
const EVENTS = deliveryNames.filter((name) => name !== "station.updated" && name !== "bike.state_changed");
/** The stations for riders, and as many for those who hold reservations. */
const STATIONS_OF_EACH = 8;
/** Bikes for each client that makes reservations. Too low: the service refuses many reservations. */
const BIKES_FOR_A_HOLDER = 3;

/** Migrates the database and creates a system for a workload: partners with keys and webhooks, stations and bikes. */
export async function prepareSystem(options: PrepareOptions): Promise<PreparedSystem> {
  const { databaseUrl, secretsFile, receiver, riders, holders, partners = 2, systemId = "main" } = options;
  const context = openContext(databaseUrl);
  try {
    await makeSystem(context, systemId);
    const { webhookKeys } = await loadSecrets(secretsFile, (bytes) => crypto.getRandomValues(new Uint8Array(bytes)));
    const secretContext = { ...context, cipher: createSecretCipher(webhookKeys), rules: LOOPBACK_RULES };
    const partnerKeys: string[] = [];
    const secrets: string[] = [];
    for (let n = 0; n < partners; n++) {
      const partner = await makePartner(context, `Partner ${n}`, { maxReservations: 1_000_000 }, systemId);
      partnerKeys.push(partner.key);
      const endpoint = { systemId, partnerId: partner.partnerId, url: receiver.urlOf(n), events: EVENTS, email: null };
      secrets.push((await setEndpoint(secretContext, endpoint)).secret ?? "");
    }
    receiver.useSecrets(secrets);
    const operatorKey = await makeOperatorKey(context, systemId);
    const [riderStations, holderStations] = [stationsOf("rider"), stationsOf("holder")];
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
    await context.db.close();
  }
}

/** Returns the ids of the stations of one kind of clients. The type says that there is at least one. */
function stationsOf(whose: string): [string, ...string[]] {
  return [`${whose}-station-0`, ...Array.from({ length: STATIONS_OF_EACH - 1 }, (_, n) => `${whose}-station-${n + 1}`)];
}
