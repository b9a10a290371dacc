import { createHash } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { fillMonthWithRides, fillWithRides } from "../dataset.ts";
import { fillWithHistory } from "../history/changes.ts";
import { fillWith, type ListName } from "../lists/rows.ts";
import { makeSystem, openContext } from "../provision.ts";

/*
 * Manages the data sets for measuring reads: databases of one PostgreSQL server. They are created once and kept in
 * BENCH_DATA_DIR, because ten million rides take minutes to create. If a migration changes, they are created again.
 */

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

/** The kinds of data sets: rows of a list, changes of stations, or rides of one month. */
export type DataSetName = ListName | "station_changes" | "month_rides";

/** The month of the rides in the data set `month_rides`. */
export const RIDDEN_MONTH = "2025-10";

/** A running PostgreSQL server with data sets. */
export interface DataSets {
  /** The directory in which the data sets are kept. */
  readonly directory: string;
  /** Returns the connection string of the database with this data set. Creates it if it does not exist. */
  of(rows: number, set?: DataSetName): Promise<string>;
  close(): Promise<void>;
}

/** Starts the PostgreSQL server with the data sets. */
export async function openDataSets(): Promise<DataSets> {
  const directory = process.env["BENCH_DATA_DIR"] ?? join(tmpdir(), "bikeshare-bench-data");
  // If the bench runs as root, PostgreSQL runs under another account, which needs access to the directory.
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const dataDir = join(directory, "postgres");
  const postgres = await openEmbeddedPostgres({ dataDir, log: () => undefined });
  const maintenance = openDatabase({ connectionString: postgres.connectionString, statementTimeoutMs: 0 });
  const schema = await digestOfMigrations();
  return {
    directory,
    async of(rows, set = "rides") {
      const name = `${set}_${rows}_${schema}`;
      if (!(await databasesOf(maintenance, rows, set)).includes(name)) await make(maintenance, name, rows, set);
      return connectionStringOf(postgres.connectionString, name);
    },
    async close() {
      await maintenance.close();
      await postgres.close();
    },
  };
}

/**
 * Returns a digest of the migrations without their comments, so that a changed comment does not create ten million rides
 * again.
 */
export async function digestOfMigrations(): Promise<string> {
  const digest = createHash("sha256");
  for (const file of (await readdir(MIGRATIONS)).sort()) {
    const text = await readFile(join(MIGRATIONS, file), "utf8");
    digest.update(text.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " "));
  }
  return digest.digest("hex").slice(0, 12);
}

function connectionStringOf(base: string, database: string): string {
  const url = new URL(base);
  url.pathname = `/${database}`;
  return url.href;
}

/** Returns the databases of a data set, of all schemas and also of unfinished ones. */
async function databasesOf(db: Database, rows: number, set: DataSetName): Promise<string[]> {
  const found = await db.query<{ name: string }>(
    { name: "", text: "select datname::text as name from pg_database where datname like $1" },
    [`${set}\\_${rows}\\_%`],
  );
  return found.map(({ name }) => name);
}

/** Creates a data set under a temporary name first, so that an incomplete one is never used. */
async function make(maintenance: Database, name: string, rows: number, set: DataSetName): Promise<void> {
  for (const outdated of await databasesOf(maintenance, rows, set))
    await execute(maintenance, `drop database ${outdated} with (force)`);
  const making = `${name}_making`;
  await execute(maintenance, `create database ${making}`);
  const begun = performance.now();
  process.stderr.write(`making ${rows} ${set} …\n`);
  const sessionOptions = "-c synchronous_commit=off";
  const context = openContext(connectionStringOf(maintenance.connectionString, making), { sessionOptions });
  const { db } = context;
  await makeSystem(context);
  await fill(db, set, rows);
  await execute(db, "vacuum (analyze)");
  const size = await db.query<{ bytes: number }>({
    name: "",
    text: "select pg_database_size(current_database()) as bytes",
  });
  await db.close();
  await execute(maintenance, `alter database ${making} rename to ${name}`);
  const seconds = ((performance.now() - begun) / 1000).toFixed(0);
  process.stderr.write(`made in ${seconds} s, ${((size[0]?.bytes ?? 0) / 2 ** 30).toFixed(1)} GiB\n`);
}

function fill(db: Database, set: DataSetName, rows: number): Promise<void> {
  switch (set) {
    case "rides":
      return fillWithRides(db, rows);
    case "month_rides":
      return fillMonthWithRides(db, rows, `${RIDDEN_MONTH}-01T00:00:00Z`);
    case "station_changes":
      return fillWithHistory(db, rows);
    default:
      return fillWith(db, set, rows);
  }
}

async function execute(db: Database, text: string): Promise<void> {
  await db.query({ name: "", text });
}
