import { MAX_BATCH, scopeNames } from "@bikeshare/contract";
import { createSystem } from "../../src/city/systems/service.ts";
import { createIds } from "../../src/ids.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { openDatabase } from "../../src/storage/db/database.ts";
import { migrate } from "../../src/storage/db/migrate/migrate.ts";
import { Connection } from "./connection.ts";

/** A city of Citi Bike's size. */
export const STATIONS = Number(process.env["BENCH_STATIONS"] ?? 1_800);
export const BIKES = Number(process.env["BENCH_BIKES"] ?? 26_000);
const PARTNERS = 8;
/** Reached by no load, so that every request is counted and none refused. */
const RATE_LIMIT = 1_000_000_000;

export interface CityKeys {
  readonly operator: string;
  readonly partners: readonly string[];
}

/** Makes the system of a new database, its partners and the keys. */
export async function prepareSystem(connectionString: string): Promise<CityKeys> {
  const db = openDatabase({ connectionString });
  await migrate(db);
  await createSystem(db, "main", "Bench", Date.now());
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  const input = { systemId: "main", rateLimit: RATE_LIMIT };
  const operator = await issueKey(context, { ...input, kind: "operator", partnerId: null, scopes: [] });
  const partners: string[] = [];
  for (let n = 0; n < PARTNERS; n++) {
    const { id: partnerId } = await createPartner(context, "main", `Partner ${n}`);
    partners.push((await issueKey(context, { ...input, kind: "live", partnerId, scopes: [...scopeNames] })).key);
  }
  await db.close();
  return { operator: operator.key, partners };
}

export function stationId(n: number): string {
  return `station-${n % STATIONS}`;
}

/** Makes the city's stations and bikes. */
export async function fillCity(url: string, operatorKey: string): Promise<void> {
  const connection = new Connection(url, operatorKey);
  const stations = Array.from({ length: STATIONS }, (_, n) => ({
    id: stationId(n),
    name: `Station ${n}`,
    lat: 40.6 + (n % 45) / 100,
    lon: -74 + n / STATIONS,
    capacity: 20,
  }));
  const bikes = Array.from({ length: BIKES }, (_, n) => ({
    id: `bike-${n}`,
    number: String(n),
    vehicle_type_id: n % 3 === 0 ? "electric" : "classic",
    station_id: stationId(n),
  }));
  for (const [path, items] of [
    ["stations", stations],
    ["bikes", bikes],
  ] as const) {
    for (let from = 0; from < items.length; from += MAX_BATCH) {
      const body = JSON.stringify({ items: items.slice(from, from + MAX_BATCH) });
      const { status, body: text } = await connection.send("POST", `/operator/v1/${path}`, body);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    }
  }
  connection.close();
}
