import { chmod, mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type BatchResults, MAX_BATCH } from "@bikeshare/contract";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/keys/service.ts";
import { createSystem } from "../src/systems/service.ts";
import { cpuMicroseconds, startServer } from "./processes.ts";

/*
 * The operator's commands, measured as a city of Citi Bike's size sends them: rides that start and end, over HTTP, each
 * batch one durable transaction of PostgreSQL with its default settings. `pnpm bench:live` runs it.
 */

const STATIONS = Number(process.env["BENCH_STATIONS"] ?? 1_800);
const BIKES = Number(process.env["BENCH_BIKES"] ?? 26_000);
/** Seconds of each measurement. */
const TURN = Number(process.env["BENCH_SECONDS"] ?? 10);

interface Figure {
  readonly name: string;
  readonly ridesPerSecond: number;
  readonly requestMilliseconds: { readonly median: number; readonly p99: number };
  /** Of one core. */
  readonly serverCpu: number;
}

/** Rides made so far. */
let rides = 0;
const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
try {
  const key = await prepare();
  const server = await startServer(join(import.meta.dirname, "../src/main.ts"), ["serve", "--json"], {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: join(directory, "service"),
    PORT: "0",
    LOG_LEVEL: "warn",
  });
  try {
    const { url } = JSON.parse(server.firstLine) as { url: string };
    const post = poster(url, key);
    await fill(post);
    const load = loadavg()[0]?.toFixed(2);
    const figures: Figure[] = [];
    for (const [size, connections] of [
      [1000, 1],
      [1000, 4],
      [100, 4],
      [1, 16],
    ] as const) {
      figures.push(await measure(post, server.pid, size, connections));
    }
    process.stdout.write(report(figures, load));
  } finally {
    await server.stop();
  }
} finally {
  agent.destroy();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

async function prepare(): Promise<string> {
  const db = openDatabase({ connectionString: postgres.connectionString });
  await migrate(db);
  await createSystem(db, "main", "Bench", Date.now());
  const clock = () => Date.now();
  const { key } = await issueKey(
    { db, clock, ids: createIds(clock), actor: "bench" },
    { systemId: "main", kind: "operator", partnerId: null, scopes: [], rateLimit: 1_000_000_000 },
  );
  await db.close();
  return key;
}

type Post = (path: string, items: readonly object[]) => Promise<number>;

/** Sends a batch, which must be done whole; gives the milliseconds until its answer. */
function poster(url: string, key: string): Post {
  return async (path, items) => {
    const begun = performance.now();
    const { status, text } = await send(`${url}/operator/v1/${path}`, key, JSON.stringify({ items }));
    const milliseconds = performance.now() - begun;
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    const results = JSON.parse(text) as BatchResults;
    const broken = results.results.find(({ error }) => error !== null);
    if (broken !== undefined) throw new Error(`${path}: ${results.failed} failed: ${JSON.stringify(broken)}`);
    return milliseconds;
  };
}

// node:http rather than fetch, which takes a third of the client's core and so of the two there may be.
function send(url: string, key: string, body: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

function stationId(n: number): string {
  return `station-${n % STATIONS}`;
}

async function fill(post: Post): Promise<void> {
  process.stderr.write(`making ${STATIONS} stations and ${BIKES} bikes …\n`);
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
  for (const batch of cut(stations, MAX_BATCH)) await post("stations", batch);
  const begun = performance.now();
  for (const batch of cut(bikes, MAX_BATCH)) await post("bikes", batch);
  process.stderr.write(`${Math.round(BIKES / ((performance.now() - begun) / 1000))} bikes made per second\n`);
}

function* cut<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/**
 * Starts and ends rides for some seconds: each connection on bikes of its own (their number must be a multiple of that
 * of the connections), to stations all over the city.
 */
async function measure(post: Post, pid: number, size: number, connections: number): Promise<Figure> {
  const latencies: number[] = [];
  let ended = 0;
  const run = async (connection: number, until: number, isMeasured: boolean) => {
    for (let turn = 0; performance.now() < until; turn++) {
      // A stride that shares no factor with the number of bikes, so that each batch is spread over the city.
      const bikes = Array.from(
        { length: size },
        (_, n) => (((turn * size + n) * connections + connection) * 7919) % BIKES,
      );
      const begun = bikes.map((bike) => ({ id: `ride-${++rides}`, bike_id: `bike-${bike}` }));
      const start = await post("rides/start", begun);
      const ends = begun.map(({ id }, n) => ({
        id,
        end_station_id: stationId((bikes[n] ?? 0) + turn),
        distance_meters: 1500,
      }));
      const completion = await post("rides/end", ends);
      if (!isMeasured) continue;
      latencies.push(start, completion);
      ended += size;
    }
  };
  const all = (seconds: number, isMeasured: boolean) => {
    const until = performance.now() + seconds * 1000;
    return Promise.all(Array.from({ length: connections }, (_, n) => run(n, until, isMeasured)));
  };
  await all(TURN / 5, false);
  const begun = performance.now();
  const cpu = await cpuMicroseconds(pid);
  await all(TURN, true);
  const seconds = (performance.now() - begun) / 1000;
  const serverCpu = ((await cpuMicroseconds(pid)) - cpu) / 1e6 / seconds;
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? NaN;
  const name =
    size === 1 ? `one by one, ${connections} connections` : `batches of ${size}, ${connections} connection(s)`;
  return { name, ridesPerSecond: ended / seconds, requestMilliseconds: { median: at(0.5), p99: at(0.99) }, serverCpu };
}

function report(figures: readonly Figure[], load: string | undefined): string {
  const lines = figures.map(({ name, ridesPerSecond, requestMilliseconds: { median, p99 }, serverCpu }) =>
    [
      name.padEnd(32),
      String(Math.round(ridesPerSecond)).padStart(8),
      String(Math.round(2 * ridesPerSecond)).padStart(10),
      median.toFixed(1).padStart(8),
      p99.toFixed(1).padStart(8),
      `${Math.round(serverCpu * 100)} %`.padStart(8),
    ].join(" "),
  );
  return [
    `Rides started and ended over /operator/v1, durable; ${BIKES} bikes, ${STATIONS} stations, ${TURN} s each.`,
    `Load of the machine before: ${load}; client, server and database share it.`,
    `${"".padEnd(32)}  rides/s commands/s   median      p99   server`,
    ...lines,
    "",
  ].join("\n");
}
