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
 * The data sets that reading is measured on: databases of one PostgreSQL, made once and kept in BENCH_DATA_DIR, because ten
 * million rides take minutes to make and some gigabytes to keep. A changed migration makes them anew.
 */

const MIGRATIONS = join(import.meta.dirname, "../../migrations");

/** Rows of a list, changes of stations, or rides of one month. */
export type DataSetName = ListName | "station_changes" | "month_rides";

/** The month of the rides of a month. */
export const RIDDEN_MONTH = "2025-10";

/** A running PostgreSQL with data sets. */
export interface DataSets {
  /** Where they are kept. */
  readonly directory: string;
  /** The connection string of the database with so many rides, or rows of another set, which is made if it is not there. */
  of(rows: number, set?: DataSetName): Promise<string>;
  close(): Promise<void>;
}

export async function openDataSets(): Promise<DataSets> {
  const directory = process.env["BENCH_DATA_DIR"] ?? join(tmpdir(), "bikeshare-bench-data");
  // As root PostgreSQL runs under another account, which must be able to enter.
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

/** Of what they do: a comment that changes is no reason to make ten million rides again. */
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

async function databasesOf(db: Database, rows: number, set: DataSetName): Promise<string[]> {
  const found = await db.query<{ name: string }>(
    { name: "", text: "select datname::text as name from pg_database where datname like $1" },
    [`${set}\\_${rows}\\_%`],
  );
  return found.map(({ name }) => name);
}

/** Makes a data set under another name first, so that one that was broken off is not taken for whole. */
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
