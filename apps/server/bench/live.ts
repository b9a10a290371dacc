import { chmod, mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/storage/db/database.ts";
import { BIKES, type CityKeys, fillCity, prepareSystem, STATIONS } from "./live/city.ts";
import { durableRowLoad, type Load, reservationLoad, rideLoad } from "./live/loads.ts";
import { Latencies, runAtRate, saturate } from "./live/measure.ts";
import { startServer } from "./processes.ts";
import { processorTime } from "./webhooks/processor-time.ts";

/*
 * Commands on the fleet as a city of Citi Bike's size sends them, over HTTP with keys, rate limits and an Idempotency-Key
 * each, in durable transactions of PostgreSQL with its default settings: batches, single commands and the least there can
 * be, one durable row, interleaved in one run; then single commands at half the rate that was measured, in the open model.
 * `pnpm bench live` runs it, in about two minutes.
 */

const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 3);
/** Of each load in each repetition, and of each rate. */
const TURN_MS = 1000 * Number(process.env["BENCH_SECONDS"] ?? 4);
const RATE_MS = 2 * TURN_MS;
const WARM_UP_MS = 1_000;

interface Measured {
  readonly load: Load;
  readonly latencies: Latencies;
  calls: number;
  seconds: number;
  /** Microseconds of processor time. */
  readonly used: { server: number; postgres: number };
}

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
try {
  const keys = await prepareSystem(postgres.connectionString);
  const server = await startServer(join(import.meta.dirname, "../src/main.ts"), ["serve", "--json"], {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: join(directory, "service"),
    PORT: "0",
    LOG_LEVEL: "warn",
  });
  try {
    const { url } = JSON.parse(server.firstLine) as { url: string };
    await fillCity(url, keys.operator);
    const load = loadavg()[0]?.toFixed(2);
    process.stdout.write(
      `${cpus().length} cores, load before ${load}, Node ${process.versions.node}; ${BIKES} bikes, ${STATIONS} stations; ` +
        `client, server and database share the machine; ${REPETITIONS} repetitions of ${TURN_MS / 1000} s\n`,
    );
    await run(await openLoads(url, keys), server.pid);
  } finally {
    await server.stop();
  }
} finally {
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

/** Batches first: the others are compared with them. The last is the durable row. */
async function openLoads(url: string, keys: CityKeys): Promise<Load[]> {
  const third = Math.floor(BIKES / 4);
  const bikes = (n: number) => ({ first: n * third, count: third });
  return [
    rideLoad(url, keys, bikes(0), { size: 100, connections: 4 }),
    rideLoad(url, keys, bikes(1), { size: 1, connections: 64 }),
    rideLoad(url, keys, bikes(2), { size: 1, connections: 1 }),
    reservationLoad(url, keys, 64),
    await durableRowLoad(postgres.connectionString, 64),
  ];
}

async function run(loads: readonly Load[], serverPid: number): Promise<void> {
  const db = openDatabase({ connectionString: postgres.connectionString });
  const all = loads.map((load): Measured => ({
    load,
    latencies: new Latencies(),
    calls: 0,
    seconds: 0,
    used: { server: 0, postgres: 0 },
  }));
  for (const load of loads) await saturate(load, WARM_UP_MS, new Latencies());
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    for (const measured of all) {
      const before = await processorTime(db, serverPid);
      const done = measured.latencies.count;
      measured.seconds += await saturate(measured.load, TURN_MS, measured.latencies);
      measured.calls += measured.latencies.count - done;
      const after = await processorTime(db, serverPid);
      measured.used.server += after.receiver - before.receiver;
      measured.used.postgres += after.postgres - before.postgres;
    }
  }
  const [batches] = all;
  process.stdout.write(
    `${"".padEnd(28)} commands/s  of batches   p50 ms   p99 ms  server µs  postgres µs (a command)\n`,
  );
  for (const each of all) process.stdout.write(`${saturationLine(each, batches ?? each)}\n`);
  const durable = all.at(-1);
  for (const single of all.filter(({ load }) => load.commandsPerCall === 1 && load.callers.length > 1)) {
    if (single !== durable && durable !== undefined) await compareAtHalf(single, durable);
  }
  await db.close();
  for (const load of loads) await load.close();
}

function commandsPerSecond({ load, calls, seconds }: Measured): number {
  return (calls * load.commandsPerCall) / seconds;
}

function saturationLine(measured: Measured, batches: Measured): string {
  const { load, latencies, calls, used } = measured;
  const commands = calls * load.commandsPerCall;
  const rate = commandsPerSecond(measured);
  return [
    load.name.padEnd(28),
    rate.toFixed(0).padStart(10),
    (rate / commandsPerSecond(batches)).toFixed(2).padStart(11),
    latencies.at(0.5).toFixed(1).padStart(8),
    latencies.at(0.99).toFixed(1).padStart(8),
    (used.server / commands).toFixed(0).padStart(10),
    (used.postgres / commands).toFixed(0).padStart(12),
  ].join(" ");
}

/** Both in turns at half the rate that the one reached. */
async function compareAtHalf(single: Measured, durable: Measured): Promise<void> {
  const rate = commandsPerSecond(single) / 2;
  const ours = await runAtRate(single.load, rate, RATE_MS);
  const least = await runAtRate(durable.load, rate, RATE_MS);
  const line = (latencies: Latencies) =>
    `p50 ${latencies.at(0.5).toFixed(1)} ms, p99 ${latencies.at(0.99).toFixed(1)} ms`;
  process.stdout.write(
    `at ${rate.toFixed(0)}/s: ${single.load.name}: ${line(ours)}; ${durable.load.name}: ${line(least)}; ` +
      `p99 ${(ours.at(0.99) / least.at(0.99)).toFixed(1)} ×\n`,
  );
}
