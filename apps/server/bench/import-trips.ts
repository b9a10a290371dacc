/*
 * How fast `import trips` is against PostgreSQL's own `copy`, in rounds that alternate:
 *   copy    the same rows, already converted, into the same table with the same indexes, over one connection
 *   first   `import trips` of a file of the old Citi Bike kind into an empty database
 *   second  the same import again, which changes nothing
 * Prints for each its rows a second and the processor time of this process and of PostgreSQL.
 *
 *   node --conditions=@bikeshare/source bench/import-trips.ts [rows] [rounds]
 *
 * BENCH_DATABASE_URL names a PostgreSQL server on this machine whose maintenance database it may use; without it, ours is
 * started.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { createSystem } from "../src/city/systems/service.ts";
import { importTrips } from "../src/feeds/trips/import.ts";
import { openTimeZone } from "../src/feeds/trips/time-zone.rules.ts";
import { createIds } from "../src/ids.ts";
import { columnsOfTable } from "../src/storage/db/columns.ts";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { copyDatabase, dropDatabase, runOnServer, withDatabaseName } from "../test/server-commands.ts";
import { postgresTime } from "./webhooks/processor-time.ts";

const ROWS = Number(process.argv[2] ?? 200_000);
const REPETITIONS = Number(process.argv[3] ?? 3);
const STATIONS = 1_800;
const BIKES = 26_000;
const HEADER =
  '"tripduration","starttime","stoptime","start station id","start station name","start station latitude","start station longitude","end station id","end station name","end station latitude","end station longitude","bikeid","usertype","birth year","gender"\n';

/** The same numbers in every run: a linear congruence (Numerical Recipes). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function* lines(rows: number): Iterable<string> {
  const next = numbers(1);
  const station = (id: number) =>
    `${3000 + id},"Station ${id} & Main St",${(40.6 + id / 10_000).toFixed(8)},${(-74.1 + id / 9_000).toFixed(8)}`;
  const wall = (ms: number) => `${new Date(ms).toISOString().slice(0, 23).replace("T", " ")}0`;
  yield HEADER;
  for (let row = 0; row < rows; row++) {
    const start = Date.UTC(2019, 4, 1) + Math.floor((row * 31 * 86_400_000) / rows) + next(1000);
    const length = 30_000 + next(3_600_000);
    yield `${Math.floor(length / 1000)},"${wall(start)}","${wall(start + length)}",${station(next(STATIONS))},${station(next(STATIONS))},${14_000 + next(BIKES)},"${next(5) === 0 ? "Customer" : "Subscriber"}",19${50 + next(50)},${next(3)}\n`;
  }
}

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
const tripFile = join(directory, "trips.csv");
const rowFile = join(directory, "rides.copy");
const COLUMNS = columnsOfTable("rides").list();

/** One import of the file. @returns when it had read all of it */
async function runImport(db: Database, importId: string): Promise<number> {
  let readUntil = 0;
  const result = await importTrips({
    db,
    systemId: "main",
    files: [tripFile],
    zone: openTimeZone("America/New_York"),
    source: "bench",
    clock: () => Date.now(),
    ids: createIds(() => Date.now()),
    actor: "cli:bench",
    standardInput: Readable.from([]),
    isTrial: false,
    importId,
    reportPath: join(directory, "report.ndjson"),
    spoolDirectory: directory,
    signal: new AbortController().signal,
    onProgress: ({ doing }) => {
      if (doing === "reading") readUntil = performance.now();
    },
  });
  const expected = importId === "first" ? result.created : result.unchanged;
  // Bikes' ids and starts are drawn, so a few rows in a million have an id in common.
  if (expected + result.rejected !== ROWS || result.rejected > ROWS / 1000) throw new Error(JSON.stringify(result));
  return readUntil;
}

/** Writes the rides of an import as `copy` takes them, in the order of their starts, which is that of the file. */
async function exportRides(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const rows = client.query(copyTo(`copy (select ${COLUMNS} from rides order by started_at) to stdout`));
  await pipeline(rows, createWriteStream(rowFile));
  await client.end();
}

function copyRides(db: Database): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.run("set local statement_timeout = 0");
    await pipeline(
      createReadStream(rowFile, { highWaterMark: 256 * 1024 }),
      await tx.copyIn(`copy rides (${COLUMNS}) from stdin`),
    );
  });
}

/** Runs something, and prints what it took. @returns rows a second */
async function measure(name: string, db: Database, work: () => Promise<number | void>): Promise<number> {
  const postgresBefore = await postgresTime(db);
  const ownBefore = process.cpuUsage();
  const begun = performance.now();
  const readUntil = await work();
  const ms = performance.now() - begun;
  const own = process.cpuUsage(ownBefore);
  const postgres = (await postgresTime(db)) - postgresBefore;
  const perRow = (microseconds: number) => (microseconds / ROWS).toFixed(1);
  const reading = readUntil === undefined ? "" : `, reading ${((readUntil - begun) / 1000).toFixed(1)} s`;
  console.log(
    `${name.padEnd(6)} ${Math.round((ROWS / ms) * 1000)} rows/s (${(ms / 1000).toFixed(1)} s${reading}), ` +
      `processor µs a row: ours ${perRow(own.user + own.system)}, PostgreSQL ${perRow(postgres)}`,
  );
  return (ROWS / ms) * 1000;
}

/** Does something in a new database with the schema and one system. */
async function inNewDatabase<Result>(name: string, work: (db: Database) => Promise<Result>): Promise<Result> {
  await copyDatabase(serverUrl, template, name);
  const db = openDatabase({ connectionString: withDatabaseName(serverUrl, name) });
  try {
    return await work(db);
  } finally {
    await db.close();
    await dropDatabase(serverUrl, name);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const given = process.env["BENCH_DATABASE_URL"];
const own =
  given === undefined
    ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
    : undefined;
const serverUrl = given ?? own?.connectionString ?? "";
const template = `trips_bench_${process.pid}`;
await runOnServer(serverUrl, `create database ${template}`);
try {
  const db = openDatabase({ connectionString: withDatabaseName(serverUrl, template) });
  await migrate(db);
  await createSystem(db, "main", "Bench", 0);
  await db.close();
  await pipeline(Readable.from(lines(ROWS)), createWriteStream(tripFile));
  const load = loadavg().map((value) => value.toFixed(2));
  console.log(`${cpus().length} cores, load ${load.join(" ")}, ${ROWS} rows, ${REPETITIONS} rounds`);

  const ratios: number[] = [];
  let first = 0;
  let copy = 0;
  const importTwice = () =>
    inNewDatabase(`${template}_import`, async (importDb) => {
      first = await measure("first", importDb, () => runImport(importDb, "first"));
      await measure("second", importDb, () => runImport(importDb, "second"));
      if (ratios.length === 0) await exportRides(importDb.connectionString);
    });
  const copyOnce = () =>
    inNewDatabase(`${template}_copy`, async (copyDb) => {
      copy = await measure("copy", copyDb, () => copyRides(copyDb));
    });
  for (let round = 1; round <= REPETITIONS; round++) {
    // Whoever is first has the colder caches and the emptier log: they take turns. The first import makes the rows of `copy`.
    for (const run of round % 2 === 1 ? [importTwice, copyOnce] : [copyOnce, importTwice]) await run();
    ratios.push(first / copy);
    console.log(`round ${round}: first import / copy ${(first / copy).toFixed(2)}`);
  }
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(`median of first import / copy ${median(ratios).toFixed(2)}; peak memory of this process ${peak} MB`);
} finally {
  await dropDatabase(serverUrl, template);
  await own?.close();
  await rm(directory, { recursive: true, force: true });
}
