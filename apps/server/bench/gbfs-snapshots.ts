import { applySnapshot } from "../src/feeds/gbfs/apply.ts";
import { readDocument } from "../src/feeds/gbfs/documents.ts";
import { type GbfsSource, readSnapshot } from "../src/feeds/gbfs/snapshot.ts";
import { postgresMicroseconds } from "./postgres-time.ts";
import { describeMachine, onPostgres, say } from "./processes.ts";
import { type BenchContext, openNewSystem } from "./provision.ts";

/*
 * Measures how long it takes to read and apply a GBFS snapshot with 2,000 stations and 26,000 bikes: first all are new, then
 * unchanged, then 1 % of both have changed. The processor time is that of applying, in this process and PostgreSQL.
 * `pnpm bench gbfs-snapshots [rounds] [stations] [bikes]`
 */
const STATIONS = Number(process.argv[3] ?? 2_000);
const BIKES = Number(process.argv[4] ?? 26_000);
const REPETITIONS = Number(process.argv[2] ?? 5);
const START = Date.UTC(2025, 5, 1, 12);

/** Returns the feeds at a minute, as JSON. With another generation, every hundredth station and bike is different. */
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

await onPostgres(async ({ connectionString }) => {
  const context = await openNewSystem(connectionString);
  say(describeMachine());
  await round(context, "all new", 0, 0);
  for (let i = 1; i <= REPETITIONS; i++) await round(context, "unchanged", i, 0);
  for (let i = 1; i <= REPETITIONS; i++) await round(context, "1 % changed", REPETITIONS + i, i);
  await context.db.close();
});

/** Reads and applies the feeds of a minute once, and prints how long it takes. */
async function round(
  { db, ids, clock }: BenchContext,
  what: string,
  minute: number,
  generation: number,
): Promise<void> {
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
  const [own, postgres] = [process.cpuUsage(), await postgresMicroseconds(db)];
  const { stations, bikes } = await applySnapshot(
    db,
    { systemId: "main", source: "bench", now: clock(), ids },
    snapshot,
  );
  const applied = performance.now();
  const { user, system } = process.cpuUsage(own);
  const used = (user + system + (await postgresMicroseconds(db)) - postgres) / 1_000;
  const changes = stations.created + stations.updated + bikes.created + bikes.updated;
  say(
    `${what}: read ${(read - began).toFixed(0)} ms, applied ${(applied - read).toFixed(0)} ms ` +
      `(processor ${used.toFixed(0)} ms), ${changes} changes`,
  );
}
