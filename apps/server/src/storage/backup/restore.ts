import { chmod, mkdtemp, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { makeDirectory, openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { everySystemOf } from "../../city/systems/service.ts";
import { checkInvariants, type InvariantCheck } from "../../health/check/service.ts";
import { openDatabase, type Transaction } from "../db/database.ts";
import { codeOf } from "../db/errors.ts";
import { knownMigrations, migrate } from "../db/migrate/migrate.ts";
import { careForTables } from "../db/vacuum.ts";
import { dailyTables } from "../partitions/partition.rules.ts";
import { createPartitionsOf } from "../partitions/service.ts";
import {
  type ArchiveReader,
  type BackedUpTable,
  BackupFileError,
  entryNames,
  type Manifest,
  readArchive,
  readSecretsOf,
  RowCounter,
} from "./archive.ts";
import { type BackupSummary, checkedSizeOf, readManifest, unlessAborted } from "./backup.ts";
import { type CopiedTable, copyIn, deleteIndexes, findTableWithRows, listCopiedTables } from "./queries.ts";

/* Restores a backup, and verifies one by restoring it into a temporary PostgreSQL. */

interface RestoreOptions {
  /** A database without data of this service. */
  readonly connectionString: string;
  /** The path for the secrets. An existing file must have the same content. */
  readonly secretsPath: string;
  /** Called before a table's rows are written. @param done how many tables are written @param all how many there are */
  readonly onTable?: (name: string, done: number, all: number) => void;
  /** A directory on the disk of the database, which must have room for the rows; undefined: the room is not checked. */
  readonly dataDirectory?: string;
  /** The variable that names `dataDirectory`, for the message that it has no room. Default: DATA_DIR. */
  readonly directoryVariable?: string;
}

/**
 * Restores a backup into a database without data, and migrates it to this program's schema. The rows are restored completely
 * or not at all. Overwrites neither data nor another secrets file.
 * @returns what was restored
 * @throws BackupFileError
 */
export function restoreBackup(options: RestoreOptions, path: string): Promise<BackupSummary> {
  return readArchive(path, async (archive) => {
    const manifest = readManifest(path, await archive.read(entryNames.manifest));
    const secrets = await archive.read(entryNames.secrets);
    await assertKnown(path, manifest);
    // Checks sizes before the restore uses memory or disk space.
    const bytes = checkedSizeOf(archive, manifest);
    await assertRoom(path, bytes, options);
    await assertSameSecrets(options.secretsPath, secrets);
    const db = openDatabase({ connectionString: options.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
    try {
      // First only as far as the backed-up schema, which the rows fit. The later migrations then change the rows, too.
      await migrate(db, { last: manifest.migrations.at(-1) });
      assertTables(manifest, await listCopiedTables(db));
      const rows = await db.transaction(async (tx) => {
        const copied = await copyTables(tx, archive, manifest, options);
        // Written before the commit: data without their secrets would be useless and could not be restored again.
        await writeSecrets(options.secretsPath, secrets);
        return copied;
      });
      await migrate(db);
      await careForTables(options.connectionString, names(manifest));
      return { bytes: archive.bytes, madeAt: manifest.made_at, tables: manifest.tables.length, rows };
    } finally {
      await db.close();
    }
  });
}

/** Writes the rows of an archive into empty tables without indexes, and then creates the indexes. @returns how many rows */
async function copyTables(
  tx: Transaction,
  archive: ArchiveReader,
  manifest: Manifest,
  { onTable }: RestoreOptions,
): Promise<number> {
  const taken = await findTableWithRows(tx, names(manifest));
  if (taken !== undefined) {
    throw new BackupFileError(
      `The database has data already (in ${taken}); nothing was changed. Restore into an empty one: name another in DATABASE_URL, or another DATA_DIR.`,
    );
  }
  const createIndexes = await deleteIndexes(tx);
  let done = 0;
  let rows = 0;
  for (const table of manifest.tables) {
    onTable?.(table.name, done++, manifest.tables.length);
    rows += await copyTable(tx, archive, table);
  }
  await createIndexes().catch((error: unknown) => {
    throw isRefusedData(error) ? contradiction(error) : error;
  });
  return rows;
}

/** Writes the rows of one table. @returns how many rows */
async function copyTable(tx: Transaction, archive: ArchiveReader, table: BackedUpTable): Promise<number> {
  const daily = dailyTables.find(({ name }) => name === table.name);
  if (daily !== undefined) await createPartitionsOf(tx, daily, table.days ?? []);
  const rows = new RowCounter(table.name, table.rows);
  const entry = entryNames.table(table.name);
  try {
    await pipeline(await archive.open(entry), rows, await copyIn(tx, table));
  } catch (error) {
    // PostgreSQL may refuse a row of a damaged file before the checksum at its end is reached. Reads the whole file, so that
    // a wrong checksum is reported instead.
    await pipeline(await archive.open(entry), new RowCounter(table.name, table.rows).resume());
    throw isRefusedData(error) ? refusedRow(table.name, error) : error;
  }
  if (rows.count !== table.rows)
    throw new BackupFileError(`The backup is damaged: ${table.name} has ${rows.count} rows instead of ${table.rows}.`);
  return rows.count;
}

/** Tells whether PostgreSQL rejected values (class 22), a combination of them (23), or their size (54). */
function isRefusedData(error: unknown): error is Error {
  return error instanceof Error && /^(?:22|23|54)/.test(codeOf(error) ?? "");
}

function refusedRow(table: string, cause: Error): BackupFileError {
  const message = `The backup is damaged: PostgreSQL refuses a row of ${table}: ${cause.message}. Nothing was restored: use an earlier backup.`;
  return new BackupFileError(message, { cause });
}

function contradiction(cause: Error): BackupFileError {
  const message = `The backup is damaged: its rows contradict each other: ${cause.message}. Nothing was restored: use an earlier backup.`;
  return new BackupFileError(message, { cause });
}

/**
 * @throws BackupFileError when the manifest names a table or column that the schema of its migrations lacks, or names one
 * twice
 */
function assertTables(manifest: Manifest, present: readonly CopiedTable[]): void {
  const columnsOf = new Map(present.map(({ name, columns }) => [name, new Set(columns)]));
  const named = new Set<string>();
  for (const { name, columns } of manifest.tables) {
    const known = columnsOf.get(name);
    const isTwice = named.has(name) || new Set(columns).size < columns.length;
    named.add(name);
    if (known !== undefined && !isTwice && columns.every((column) => known.has(column))) continue;
    throw new BackupFileError(
      `The backup is damaged: the schema of its migrations has not the table ${JSON.stringify(name)} with its columns.`,
    );
  }
}

/** @throws BackupFileError when the rows, even without their indexes, take more space than the disk has free */
async function assertRoom(
  path: string,
  bytes: number,
  { dataDirectory: directory, directoryVariable = "DATA_DIR" }: RestoreOptions,
): Promise<void> {
  if (directory === undefined) return;
  const { bavail, bsize } = await statfs(directory);
  if (bytes <= bavail * bsize) return;
  throw new BackupFileError(
    `${path} has ${toMegabytes(bytes)} MB of rows, and the disk of ${directory} has ${toMegabytes(bavail * bsize)} MB free: free space there, or name a directory on another disk in ${directoryVariable}.`,
  );
}

function toMegabytes(bytes: number): string {
  return Math.ceil(bytes / 1_000_000).toLocaleString("en");
}

function names({ tables }: Manifest): string[] {
  return tables.map(({ name }) => name);
}

/** @throws BackupFileError when the backup's schema has a migration that this program lacks */
async function assertKnown(path: string, { migrations, program }: Manifest): Promise<void> {
  const known = new Set(await knownMigrations());
  const unknown = migrations.filter((number) => !known.has(number));
  if (unknown.length === 0) return;
  throw new BackupFileError(
    `${path} was written by version ${program}, whose schema has migration ${unknown[0]}, which this program does not know: restore it with that version or a newer one.`,
  );
}

/** @throws BackupFileError when there is a secrets file with another content; a missing one is written later */
async function assertSameSecrets(path: string, secrets: string): Promise<void> {
  const present = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (present === undefined || present === secrets) return;
  throw new BackupFileError(
    `The secrets file ${path} is not the one of the backup; nothing was changed. Move it away, or name another in SECRETS_FILE: the data of the backup need the backup's secrets.`,
  );
}

/** Writes the secrets file. Leaves an existing file, because `assertSameSecrets` has found it equal. */
async function writeSecrets(path: string, secrets: string): Promise<void> {
  makeDirectory(dirname(path), 0o711);
  await writeFile(path, secrets, { flag: "wx", mode: 0o600, flush: true }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
}

/** The result of verifying a backup. */
interface VerifiedBackup extends BackupSummary {
  readonly systems: readonly { readonly id: string; readonly invariants: readonly InvariantCheck[] }[];
}

/**
 * Restores a backup into a temporary PostgreSQL, checks that its secrets belong to its data, and checks every system's rows
 * against the invariants. Removes the temporary PostgreSQL at the end, even when the signal aborts.
 * @throws BackupFileError
 */
export async function verifyBackup(
  path: string,
  { onTable = () => undefined, signal }: Pick<RestoreOptions, "onTable"> & { readonly signal?: AbortSignal } = {},
): Promise<VerifiedBackup> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-verify-"));
  try {
    // If this process runs as root, PostgreSQL runs as another account, which must reach its files in this directory.
    await chmod(directory, 0o711);
    const server = await openEmbeddedPostgres({
      dataDir: join(directory, "data"),
      systemDirectory: join(directory, "system"),
      log: () => undefined,
      isDurable: false,
    });
    try {
      const secretsPath = join(directory, "secrets.json");
      const options = { ...server, secretsPath, onTable, dataDirectory: directory, directoryVariable: "TMPDIR" };
      // After an abort the verification may still run, until closing the server ends it.
      return await unlessAborted(verifyInto(path, options), signal);
    } finally {
      await server.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Restores a backup into an empty database, verifies it there, and keeps the database. @throws BackupFileError */
export async function verifyInto(path: string, options: RestoreOptions): Promise<VerifiedBackup> {
  const summary = await restoreBackup(options, path);
  const db = openDatabase({ connectionString: options.connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  try {
    await readSecretsOf(db, options.secretsPath);
    const systems = [];
    for (const { system_id: id } of await everySystemOf(db))
      systems.push({ id, invariants: await checkInvariants(db, id) });
    return { ...summary, systems };
  } finally {
    await db.close();
  }
}
