/*
 * How fast `import trips` is: makes a file of the old Citi Bike kind, imports it into a database of its own, twice,
 * and prints rows a second and the most memory that this process took.
 *
 *   node --conditions=@bikeshare/source bench/import-trips.ts [rows]
 *
 * BENCH_DATABASE_URL names a PostgreSQL server whose maintenance database it may use; without it, ours is started.
 */
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { importTrips } from "../src/feeds/trips/import.ts";
import { openTimeZone } from "../src/feeds/trips/time-zone.rules.ts";
import { createIds } from "../src/ids.ts";
import { createSystem } from "../src/systems/service.ts";
import { runOnServer, withDatabaseName } from "../test/server-commands.ts";

const ROWS = Number(process.argv[2] ?? 1_000_000);
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
const given = process.env["BENCH_DATABASE_URL"];
const own =
  given === undefined
    ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
    : undefined;
const serverUrl = given ?? own?.connectionString ?? "";
const name = `trips_bench_${process.pid}`;
await runOnServer(serverUrl, `create database ${name}`);
const db = openDatabase({ connectionString: withDatabaseName(serverUrl, name) });
try {
  await migrate(db);
  await createSystem(db, "main", "Bench", 0);
  const file = join(directory, "trips.csv");
  await pipeline(Readable.from(lines(ROWS)), createWriteStream(file));
  console.log(
    `${cpus().length} cores, load ${loadavg()
      .map((load) => load.toFixed(2))
      .join(" ")}, ${ROWS} rows`,
  );
  for (const run of ["first run", "second run"]) {
    let readUntil = 0;
    const begun = performance.now();
    const result = await importTrips({
      db,
      systemId: "main",
      files: [file],
      zone: openTimeZone("America/New_York"),
      source: "bench",
      clock: () => Date.now(),
      ids: createIds(() => Date.now()),
      actor: "cli:bench",
      standardInput: Readable.from([]),
      isTrial: false,
      importId: `bench-${run.split(" ")[0] ?? ""}`,
      reportPath: join(directory, "report.ndjson"),
      spoolDirectory: directory,
      signal: new AbortController().signal,
      onProgress: ({ doing }) => {
        if (doing === "reading") readUntil = performance.now();
      },
    });
    const seconds = (performance.now() - begun) / 1000;
    console.log(
      `${run}: ${Math.round(ROWS / seconds)} rows/s (${seconds.toFixed(1)} s, of which reading ${((readUntil - begun) / 1000).toFixed(1)} s), ` +
        `peak memory ${Math.round(process.resourceUsage().maxRSS / 1024)} MB, ${JSON.stringify({ ...result, report: undefined })}`,
    );
  }
} finally {
  await db.close();
  await runOnServer(serverUrl, `drop database if exists ${name} with (force)`);
  await own?.close();
  await rm(directory, { recursive: true, force: true });
}
