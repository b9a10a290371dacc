import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { openDatabase, type Queryable, type Transaction } from "../db/database.ts";
import { appliedMigrations, knownMigrations } from "../db/migrate/migrate.ts";
import { columnTypes } from "../db/tables.generated.ts";
import { dailyTables } from "../partitions/partition.rules.ts";
import { partitionedDays } from "../partitions/service.ts";
import {
  type ArchiveReader,
  type ArchiveWriter,
  assertFree,
  type BackedUpTable,
  BackupFileError,
  claimDraft,
  createManifest,
  draftOf,
  entryNames,
  FORMAT,
  type Manifest,
  manifestShape,
  readArchive,
  readSecretsOf,
  RowCounter,
  writeArchive,
} from "./archive.ts";
import { type CopiedTable, copyOut, findInstant, listCopiedTables, lockForReading } from "./queries.ts";

export interface BackupOptions {
  /** The database, which may be in use. */
  readonly connectionString: string;
  /** The path of the secrets file, without which the encrypted values of the database are unreadable. */
  readonly secretsPath: string;
  /** This program's version. */
  readonly version: string;
  /** Called before a table's rows are written. @param done how many tables are written @param all how many there are */
  readonly onTable?: (name: string, done: number, all: number) => void;
  /** Aborts the backup, which then fails with the signal's reason. Leaves no file, unless it was complete already. */
  readonly signal?: AbortSignal | undefined;
}

/** The contents of a backup. */
export interface BackupSummary {
  /** The size of the file. */
  readonly bytes: number;
  /** The instant of which the data are a snapshot. RFC 3339. */
  readonly madeAt: string;
  readonly tables: number;
  readonly rows: number;
}

/**
 * Writes a snapshot of all data, and the secrets, into a file, and reads the file again to check it. The service may work
 * meanwhile without waiting. Until the backup ends, no partition can be dropped and deleted rows keep their disk space.
 * @throws BackupFileError when no file can be written there, or the secrets file is missing or not the database's
 */
export async function createBackup(options: BackupOptions, path: string): Promise<BackupSummary> {
  await assertFree(path);
  if (!(await claimDraft(path))) {
    const draft = draftOf(path);
    throw new BackupFileError(`${draft} exists: another backup is being written there. If none runs, remove it.`);
  }
  return writeBackup(options, path);
}

/** Writes a backup into a file whose draft was claimed. */
export async function writeBackup(options: BackupOptions, path: string): Promise<BackupSummary> {
  try {
    options.signal?.throwIfAborted();
    return await unlessAborted(copyDatabase(options, path), options.signal);
  } catch (error) {
    await rm(draftOf(path), { force: true });
    throw error;
  }
}

/** Writes the database and the secrets into an archive, checks the archive, and puts it at `path`. */
async function copyDatabase(options: BackupOptions, path: string): Promise<BackupSummary> {
  // A separate connection, without the time limits of requests.
  const db = openDatabase({ connectionString: options.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    const secrets = await readSecretsOf(db, options.secretsPath);
    const backedUpTables = await tablesToBackUp(db);
    const write = (archive: ArchiveWriter) =>
      db.transaction(async (tx) => {
        const manifest = await copyTables(tx, archive, backedUpTables, options);
        archive.add(entryNames.secrets, secrets);
        archive.add(entryNames.manifest, `${JSON.stringify(manifest, null, 2)}\n`);
      });
    return await writeArchive(path, write, checkBackup, options.signal);
  } finally {
    await db.close();
  }
}

/**
 * Returns the tables and columns to back up. If a newer version has migrated the database, includes the tables and columns
 * that this program does not know, so that a backup has all data even after going back one version. Otherwise leaves out
 * tables that do not belong to this service.
 */
async function tablesToBackUp(db: Queryable): Promise<CopiedTable[]> {
  const known = new Set(await knownMigrations());
  const isNewer = (await appliedMigrations(db)).some((number) => !known.has(number));
  return (await listCopiedTables(db)).filter(({ name }) => isNewer || name in columnTypes);
}

/** Writes the rows of all tables, of one snapshot, into an archive. @returns the manifest, which is still to be written */
async function copyTables(
  tx: Transaction,
  archive: ArchiveWriter,
  backedUpTables: readonly CopiedTable[],
  { version, onTable }: BackupOptions,
): Promise<Manifest> {
  await lockForReading(
    tx,
    backedUpTables.map(({ name }) => name),
  );
  const madeAt = await findInstant(tx);
  const migrations = await appliedMigrations(tx);
  const tables: BackedUpTable[] = [];
  for (const table of backedUpTables) {
    onTable?.(table.name, tables.length, backedUpTables.length);
    const daily = dailyTables.find(({ name }) => name === table.name);
    const days = daily && (await partitionedDays(tx, daily));
    const rows = new RowCounter(table.name);
    await Promise.all([
      pipeline(await copyOut(tx, table), rows),
      archive.addStream(entryNames.table(table.name), rows),
    ]);
    tables.push({ ...table, columns: [...table.columns], ...(days && { days }), rows: rows.count, bytes: rows.bytes });
  }
  return createManifest({ made_at: madeAt.toISOString(), program: version, migrations, tables });
}

/**
 * Reads a whole backup and checks that no part is missing or damaged, and that it has as many rows as were written.
 * @throws BackupFileError
 */
function checkBackup(path: string): Promise<BackupSummary> {
  return readArchive(path, async (archive) => {
    const manifest = readManifest(path, await archive.read(entryNames.manifest));
    await archive.read(entryNames.secrets);
    checkedSizeOf(archive, manifest);
    for (const { name, rows } of manifest.tables) {
      const found = new RowCounter(name, rows);
      // `resume` discards the rows once they are counted.
      await pipeline(await archive.open(entryNames.table(name)), found.resume());
      if (found.count !== rows)
        throw new BackupFileError(`${path} is damaged: ${name} has ${found.count} rows instead of ${rows}.`);
    }
    const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
    return { bytes: archive.bytes, madeAt: manifest.made_at, tables: manifest.tables.length, rows };
  });
}

/**
 * Returns the bytes of all tables' rows.
 * @throws BackupFileError when a table is missing, or unpacks to another size than the manifest says
 */
export function checkedSizeOf(archive: ArchiveReader, { tables }: Manifest): number {
  return tables.reduce((sum, { name, bytes }) => sum + archive.checkedSize(entryNames.table(name), bytes), 0);
}

/** @throws BackupFileError when the text is not the manifest of a backup that this program can read */
export function readManifest(path: string, text: string): Manifest {
  // Taken from the text, because the manifest of another format may have another shape.
  const format = /"format": (\d+)/.exec(text)?.[1];
  const manifest = manifestShape.safeParse(parseJson(text));
  if (manifest.success) return manifest.data;
  const isNewer = format !== undefined && Number(format) !== FORMAT;
  throw new BackupFileError(
    isNewer
      ? `${path} was written by a newer version of the program, in a form that this one cannot read.`
      : `${path} is not a backup, or it is damaged: its manifest.json is not what a backup has.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Waits for work, unless the signal is aborted first: then the result rejects with the signal's reason, and the work
 * continues without anything that waits for it.
 */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const fail = () => reject(signal.reason as Error);
  if (signal.aborted) fail();
  else signal.addEventListener("abort", fail, { once: true });
  // Removes the listener, because the signal may live as long as the process.
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener("abort", fail));
}
