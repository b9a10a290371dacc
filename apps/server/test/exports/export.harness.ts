import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExportManifest, Ride, Station } from "@bikeshare/contract";
import { exportFormats } from "@bikeshare/contract";
import { DuckDBInstance } from "@duckdb/node-api";
import { type ExportContent, makeExportFile } from "../../src/feeds/exports/make-file.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { stationRow } from "../rows.ts";

const insertStations = statement(
  "test.exports.insertStations",
  `insert into stations (system_id, source, counters, was_installed, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status, updated_at)
   select $1, 'test', 'mirrored', true, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status, updated_at
   from json_populate_recordset(null::stations, $2::json)`,
);
const insertRides = statement(
  "test.exports.insertRides",
  `insert into rides (system_id, source, id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds, vehicle_type_id, rider_category, end_reason, is_countable, updated_at)
   select $1, 'test', id, bike_id, status, start_station_id, end_station_id, started_at, ended_at, duration_seconds, vehicle_type_id, rider_category, end_reason, is_countable, updated_at
   from json_populate_recordset(null::rides, $2::json)`,
);
const deleteRides = statement("test.exports.deleteRides", "delete from rides where system_id = $1");
const deleteStations = statement("test.exports.deleteStations", "delete from stations where system_id = $1");
const setTimeZone = statement(
  "test.exports.setTimeZone",
  `insert into descriptions (system_id, kind, id, content, set_at)
   values ($1, 'system', '', jsonb_build_object('timezone', $2::text, 'licence', 'CC-BY-4.0'), now())
   on conflict (system_id, kind, id) do update set content = excluded.content`,
);

const MONTH = "2026-10";
export const TIME_ZONE = "Europe/Oslo";

/** A database whose rides tests export, and DuckDB, which reads the exported files. */
export interface ExportHarness extends TestDatabase {
  readonly directory: string;
  stations(...rows: readonly (Partial<Station> & { readonly id: string })[]): Promise<void>;
  rides(rows: readonly Ride[]): Promise<void>;
  /** Removes all rides and stations. */
  clear(): Promise<void>;
  make(content?: Partial<ExportContent>): Promise<ExportManifest & { readonly path: string }>;
  /** Runs SQL in DuckDB. In it, `file` stands for the rows of the exported file. */
  ask(path: string, sql: string): Promise<Record<string, unknown>[]>;
  files(): Promise<string[]>;
}

export async function openExportHarness(): Promise<ExportHarness> {
  const database = await createTestDatabase();
  const { db, systemId } = database;
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-exports-"));
  const duck = await (await DuckDBInstance.create()).connect();
  await duck.run("set threads = 1; set timezone = 'UTC'");
  await db.query(setTimeZone, [systemId, TIME_ZONE]);
  return {
    ...database,
    directory,
    stations: async (...rows) => {
      await db.query(insertStations, [systemId, JSON.stringify(rows.map((row) => stationRow(row)))]);
    },
    rides: async (rows) => {
      await db.query(insertRides, [systemId, JSON.stringify(rows)]);
    },
    clear: async () => {
      await db.query(deleteRides, [systemId]);
      await db.query(deleteStations, [systemId]);
    },
    async make(content) {
      const wanted = { kind: "rides", month: MONTH, format: "csv", privacy: "stations", ...content } as const;
      const options = { systemId, connectionString: db.connectionString, directory, version: "1.2.3", ...wanted };
      const manifest = await makeExportFile(options);
      return { ...manifest, path: join(directory, manifest.file_name) };
    },
    async ask(path, sql) {
      const read = path.endsWith(exportFormats.csv.ending)
        ? `read_csv('${path}', header = true, all_varchar = true, nullstr = '')`
        : `read_parquet('${path}')`;
      const reader = await duck.runAndReadAll(`with file as (select * from ${read}) ${sql}`);
      return reader.getRowObjectsJson();
    },
    files: async () => (await readdir(directory)).toSorted(),
    close: async () => {
      duck.closeSync();
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
