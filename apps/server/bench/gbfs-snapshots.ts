/*
 * How long a GBFS snapshot takes to read and to apply: 2,000 stations and 26,000 bikes, first all new, then unchanged,
 * then with 1 % of both changed. The processor time is that of this process and of PostgreSQL.
 *
 *   node --conditions=@bikeshare/source bench/gbfs-snapshots.ts [rounds] [stations] [bikes]
 *
 * BENCH_DATABASE_URL names a PostgreSQL server whose maintenance database it may use; without it, ours is started.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createSystem } from "../src/city/systems/service.ts";
import { applySnapshot } from "../src/feeds/gbfs/apply.ts";
import { readDocument } from "../src/feeds/gbfs/documents.ts";
import { readSnapshot, type GbfsSource } from "../src/feeds/gbfs/snapshot.ts";
import { createIds } from "../src/ids.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { runOnServer, withDatabaseName } from "../test/server-commands.ts";
import { postgresTime } from "./webhooks/processor-time.ts";

const STATIONS = Number(process.argv[3] ?? 2_000);
const BIKES = Number(process.argv[4] ?? 26_000);
const REPETITIONS = Number(process.argv[2] ?? 5);
const START = Date.UTC(2025, 5, 1, 12);

/** The feeds at a minute, as text; every hundredth station and bike differs from those of generation 0. */
function feedsAt(minute: number, generation: number): ReadonlyMap<string, string> {
  const last_updated = START / 1000 + minute * 60;
  const document = (data: object) => JSON.stringify({ last_updated, ttl: 60, version: "2.3", data });
  const change = (i: number) => (i % 100 === 0 ? generation : 0);
  const stations = Array.from({ length: STATIONS }, (_, i) => i);
  return new Map([
    [
      "station_information",
      document({
        stations: stations.map((i) => ({
          station_id: `station-${i}`,
          name: `Station ${i}`,
          lat: 59 + i / 9000,
          lon: 10.7,
          capacity: 20,
        })),
      }),
    ],
    [
      "station_status",
      document({
        stations: stations.map((i) => ({
          station_id: `station-${i}`,
          is_installed: true,
          is_renting: true,
          is_returning: true,
          num_bikes_available: change(i),
          num_docks_available: 20 - change(i),
          last_reported: START / 1000,
          vehicle_types_available: [{ vehicle_type_id: "classic", count: change(i) }],
        })),
      }),
    ],
    [
      "free_bike_status",
      document({
        bikes: Array.from({ length: BIKES }, (_, i) => ({
          bike_id: `bike-${i}-5f0c8a3e9b7d4421`,
          lat: 59 + i / 90_000,
          lon: 10.7 + change(i) / 1000,
          is_reserved: false,
          is_disabled: false,
          vehicle_type_id: "classic",
          current_range_meters: 12_000,
          ...(i % 2 ? { station_id: `station-${i % STATIONS}` } : {}),
        })),
      }),
    ],
  ]);
}

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
const given = process.env["BENCH_DATABASE_URL"];
const own =
  given === undefined
    ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
    : undefined;
const serverUrl = given ?? own?.connectionString ?? "";
const name = `gbfs_bench_${process.pid}`;
await runOnServer(serverUrl, `create database ${name}`);
const db = openDatabase({ connectionString: withDatabaseName(serverUrl, name) });
const clock = () => Date.now();
const ids = createIds(clock);
console.log(`${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`);
try {
  await migrate(db);
  await createSystem(db, "main", "Bench", 0);
  await round("all new", 0, 0);
  for (let i = 1; i <= REPETITIONS; i++) await round("unchanged", i, 0);
  for (let i = 1; i <= REPETITIONS; i++) await round("1 % changed", REPETITIONS + i, i);
} finally {
  await db.close();
  await runOnServer(serverUrl, `drop database ${name} with (force)`);
  await own?.close();
  await rm(directory, { recursive: true, force: true });
}

async function round(what: string, minute: number, generation: number): Promise<void> {
  const texts = feedsAt(minute, generation);
  const began = performance.now();
  const source: GbfsSource = {
    read: async (feed, now) => {
      const text = texts.get(feed);
      return text === undefined ? undefined : readDocument(feed, Buffer.from(text), now).content;
    },
  };
  const { snapshot } = await readSnapshot(source, START + minute * 60_000);
  const read = performance.now();
  const before = await processorMs();
  const { stations, bikes } = await applySnapshot(
    db,
    { systemId: "main", source: "bench", now: clock(), ids },
    snapshot,
  );
  const applied = performance.now();
  const used = (await processorMs()) - before;
  const changes = stations.created + stations.updated + bikes.created + bikes.updated;
  console.log(
    `${what}: read ${(read - began).toFixed(0)} ms, applied ${(applied - read).toFixed(0)} ms ` +
      `(processor ${used.toFixed(0)} ms), ${changes} changes`,
  );
}

async function processorMs(): Promise<number> {
  const { user, system } = process.cpuUsage();
  return (user + system + (await postgresTime(db))) / 1_000;
}
