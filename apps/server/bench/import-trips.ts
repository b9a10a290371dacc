import { createReadStream, createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { median } from "@bikeshare/load";
import pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { importTrips } from "../src/feeds/trips/import.ts";
import { openTimeZone } from "../src/feeds/trips/trip-times.rules.ts";
import { createIds } from "../src/ids.ts";
import { columnsOfTable } from "../src/storage/db/columns.ts";
import type { Database } from "../src/storage/db/database.ts";
import { copyDatabase, dropDatabase, withDatabaseName } from "../test/server-commands.ts";
import { postgresMicroseconds } from "./postgres-time.ts";
import { describeMachine, onPostgres, say } from "./processes.ts";
import { makeSystem, openContext, SYSTEM_ID } from "./provision.ts";
import { tripLines } from "./workload/trip-file.ts";

/*
 * Compares the speed of `import trips` with PostgreSQL's `copy`. In each round all three run:
 *   copy    the same rows, already converted, into the same table with the same indexes, over one connection
 *   first   `import trips` of a file of the old Citi Bike kind into an empty database
 *   second  the same import again, which changes nothing
 *
 * Prints for each the rows a second, and the processor time of this process and of PostgreSQL. `pnpm bench import-trips
 * [rows] [rounds]`
 */
const ROWS = Number(process.argv[2] ?? 200_000);
const REPETITIONS = Number(process.argv[3] ?? 3);
const COLUMNS = columnsOfTable("rides").list();

/** The paths of the trip file, and of the file with the converted rides. */
interface Files {
  readonly directory: string;
  readonly tripFile: string;
  readonly rowFile: string;
}

/** Imports the file once. @returns the time at which the whole file was read */
async function runImport(db: Database, importId: string, { directory, tripFile }: Files): Promise<number> {
  let readUntil = 0;
  const result = await importTrips({
    db,
    systemId: SYSTEM_ID,
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
  // Bikes and start times are random, so a few rows in a million get the same ride id and are rejected.
  if (expected + result.rejected !== ROWS || result.rejected > ROWS / 1000) throw new Error(JSON.stringify(result));
  return readUntil;
}

/** Writes the imported rides to a file in the format of `copy`, sorted by start, like the trip file. */
async function exportRides(connectionString: string, { rowFile }: Files): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const rows = client.query(copyTo(`copy (select ${COLUMNS} from rides order by started_at) to stdout`));
  await pipeline(rows, createWriteStream(rowFile));
  await client.end();
}

/** Writes the file with the converted rides into the table of rides, by `copy` alone. */
function copyRides(db: Database, { rowFile }: Files): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.run("set local statement_timeout = 0");
    await pipeline(
      createReadStream(rowFile, { highWaterMark: 256 * 1024 }),
      await tx.copyIn(`copy rides (${COLUMNS}) from stdin`),
    );
  });
}

/**
 * Runs `work`, and prints its time and processor time.
 * @param work returns the time at which it had read its file, if it reads the whole file first
 * @returns rows a second
 */
async function measure(name: string, db: Database, work: () => Promise<number | void>): Promise<number> {
  const postgresBefore = await postgresMicroseconds(db);
  const ownBefore = process.cpuUsage();
  const begun = performance.now();
  const readUntil = await work();
  const ms = performance.now() - begun;
  const own = process.cpuUsage(ownBefore);
  const postgres = (await postgresMicroseconds(db)) - postgresBefore;
  const perRow = (microseconds: number) => (microseconds / ROWS).toFixed(1);
  const reading = readUntil === undefined ? "" : `, reading ${((readUntil - begun) / 1000).toFixed(1)} s`;
  say(
    `${name.padEnd(6)} ${Math.round((ROWS / ms) * 1000)} rows/s (${(ms / 1000).toFixed(1)} s${reading}), ` +
      `processor µs a row: ours ${perRow(own.user + own.system)}, PostgreSQL ${perRow(postgres)}`,
  );
  return (ROWS / ms) * 1000;
}

await onPostgres(async ({ directory, connectionString: serverUrl }) => {
  const files = { directory, tripFile: join(directory, "trips.csv"), rowFile: join(directory, "rides.copy") };
  const template = new URL(serverUrl).pathname.slice(1);
  const made = openContext(serverUrl);
  await makeSystem(made);
  await made.db.close();
  await pipeline(Readable.from(tripLines(ROWS)), createWriteStream(files.tripFile));
  say(`${describeMachine()}, ${ROWS} rows, ${REPETITIONS} rounds`);
  const maintenanceUrl = withDatabaseName(serverUrl, "postgres");
  /** Runs `work` in a new database with the schema and one system. */
  const inNewDatabase = async (name: string, work: (db: Database) => Promise<void>) => {
    await copyDatabase(maintenanceUrl, template, name);
    const { db } = openContext(withDatabaseName(serverUrl, name));
    await work(db);
    await db.close();
    await dropDatabase(maintenanceUrl, name);
  };
  const ratios: number[] = [];
  // Rows a second in the latest round.
  let [firstRate, copyRate] = [0, 0];
  const importTwice = () =>
    inNewDatabase("trips_import", async (db) => {
      firstRate = await measure("first", db, () => runImport(db, "first", files));
      await measure("second", db, () => runImport(db, "second", files));
      if (ratios.length === 0) await exportRides(db.connectionString, files);
    });
  const copyOnce = () =>
    inNewDatabase("trips_copy", async (db) => {
      copyRate = await measure("copy", db, () => copyRides(db, files));
    });
  for (let round = 1; round <= REPETITIONS; round++) {
    // The order alternates, because the first has colder caches and a shorter write-ahead log. The very first import creates
    // the rows for `copy`.
    for (const run of round % 2 === 1 ? [importTwice, copyOnce] : [copyOnce, importTwice]) await run();
    ratios.push(firstRate / copyRate);
    say(`round ${round}: first import / copy ${(firstRate / copyRate).toFixed(2)}`);
  }
  const peak = Math.round(process.resourceUsage().maxRSS / 1024);
  say(`median of first import / copy ${median(ratios).toFixed(2)}; peak memory of this process ${peak} MiB`);
});
