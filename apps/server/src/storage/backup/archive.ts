import { once } from "node:events";
import { constants, createWriteStream } from "node:fs";
import { type FileHandle, lstat, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type Readable, Transform } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { finished, pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import type yauzl from "yauzl";
import { z } from "zod";
import { findLatestKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Queryable } from "../db/database.ts";
import { codeOf, isDiskFull } from "../db/errors.ts";
import { loadSecrets } from "../secrets/secrets.ts";

/*
 * Reads and writes the file of a backup: a zip archive with a manifest, the secrets file and the rows of each table. The
 * file is written as a draft, `<name>.part`, and renamed when it is complete and checked. `readSecretsOf` checks that a
 * secrets file is the one that a database is used with.
 */

/** The format of backups. This program cannot read a backup with another number. */
export const FORMAT = 1;

/** Limits the days of a table: more than ten years. Each is a partition, which takes time and memory. */
const MAX_DAYS = 4_000;

/** The description of a backup: the file `manifest.json` in its archive. */
export const manifestShape = z.object({
  format: z.literal(FORMAT),
  /** The instant of which the data are a snapshot. RFC 3339. */
  made_at: z.string().datetime(),
  /** The version of the program that wrote the backup. */
  program: z.string(),
  /** The numbers of the migrations that were applied to the schema, or begun. */
  migrations: z.array(z.number().int().positive()).min(1),
  tables: z
    .array(
      z.object({
        name: z.string(),
        columns: z.array(z.string()),
        /** For a table that is partitioned by day: the days that had partitions, `2026-01-31`. */
        days: z.array(z.string().date()).max(MAX_DAYS).optional(),
        rows: z.number().int().min(0),
        /** The uncompressed size of the rows. Backups of 0.1.0 lack it; only the zip archive's directory says it there. */
        bytes: z.number().int().min(0).optional(),
      }),
    )
    .min(1),
});

export type Manifest = z.infer<typeof manifestShape>;
export type BackedUpTable = Manifest["tables"][number];

/** Describes a backup that this program writes. */
export function createManifest(content: Omit<Manifest, "format">): Manifest {
  return { format: FORMAT, ...content };
}

/** The paths of a backup's parts in its archive. */
export const entryNames = {
  manifest: "manifest.json",
  secrets: "secrets.json",
  /** The rows of a table, as `copy … to stdout` writes them. */
  table: (name: string) => `tables/${name}.copy`,
} as const;

/**
 * Reads the secrets file that belongs to a database.
 * @throws BackupFileError when it is missing or a different one: the encrypted values of the database could not be read
 */
export async function readSecretsOf(db: Queryable, path: string): Promise<string> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
    throw new BackupFileError(
      `There is no secrets file ${path}, without which a backup is useless. Set SECRETS_FILE or DATA_DIR as the service has them; a service that never ran makes it at its first start.`,
    );
  });
  // The encryption key that was recorded last in the database; undefined: none was, so any secrets file fits.
  const latest = await findLatestKey(db);
  if (latest === undefined) return text;
  // Passes no source of random bytes, because the file exists and is not created.
  const { webhookKeys } = await loadSecrets(path, () => new Uint8Array());
  if (!createSecretCipher(webhookKeys).hasKey(latest.fingerprint)) {
    throw new BackupFileError(
      `The secrets file ${path} is not the one that the database is used with: set SECRETS_FILE as the service has it.`,
    );
  }
  return text;
}

/** A backup cannot be written or read; the message names the reason and, where there is one, the remedy. */
export class BackupFileError extends Error {
  override readonly name = "BackupFileError";
}

/** Compresses a table's rows to a third. A higher level would take several times as long and save a tenth more. */
const COMPRESSION_LEVEL = 1;

/** The files of an archive that is being written. */
export interface ArchiveWriter {
  add(name: string, content: string): void;
  /** Adds the content of a stream; resolves when it has ended. */
  addStream(name: string, content: Readable): Promise<void>;
}

/**
 * Claims a file's name by creating its draft. Only one of several processes succeeds, so that no process overwrites the
 * draft of another one.
 * @returns false when there was a draft already
 * @throws BackupFileError when the directory does not exist, or this account may not write in it
 */
export async function claimDraft(path: string): Promise<boolean> {
  try {
    await (await open(draftOf(path), "wx", 0o600)).close();
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return false;
    const directory = path.endsWith("/") ? path : dirname(path);
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new BackupFileError(`There is no directory ${directory}: create it, or name another file.`);
    if (code === "EACCES" || code === "EPERM" || code === "EROFS")
      throw new BackupFileError(`This account may not write in ${directory}: allow it, or name another file.`);
    throw error;
  }
}

/** @throws BackupFileError when there is a file of that name */
export async function assertFree(path: string): Promise<void> {
  const isTaken = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isTaken) throw new BackupFileError(`${path} exists already: choose another name, or remove it.`);
}

/**
 * Writes a zip archive that only its owner can read, into a draft that was claimed. Renames the draft when the archive is
 * complete, on the disk, and checked.
 * @param check checks the draft; if it throws, no archive is left
 * @returns what `check` returned
 * @throws BackupFileError when there is a file of that name, or the disk is full
 */
export async function writeArchive<Checked>(
  path: string,
  write: (archive: ArchiveWriter) => Promise<void>,
  check: (draft: string) => Promise<Checked>,
  signal?: AbortSignal,
): Promise<Checked> {
  await assertFree(path);
  const draft = draftOf(path);
  try {
    await writeZip(draft, write, signal);
    const checked = await check(draft);
    signal?.throwIfAborted();
    await rename(draft, path);
    await syncDirectory(dirname(path));
    return checked;
  } catch (error) {
    await rm(draft, { force: true });
    if (!isDiskFull(error)) throw error;
    throw new BackupFileError(`The disk of ${dirname(path)} is full: free space there, and back up again.`);
  }
}

/** Returns the name under which a file is written until it is complete. */
export function draftOf(path: string): string {
  return `${path}.part`;
}

/** Writes a zip archive into a new or claimed file, and flushes it to the disk. */
async function writeZip(
  path: string,
  write: (archive: ArchiveWriter) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // After an abort the draft may have been removed already, and must not be created again.
  signal?.throwIfAborted();
  const { default: yazl } = await import("yazl");
  const zip = new yazl.ZipFile();
  const failed = once(zip, "error").then(([error]) => Promise.reject(error as Error));
  // With `flush`, closing the file waits until its content is on the disk.
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  const closed = once(file, "close");
  // If the file fails, this promise rejects as well as `written` below. An unhandled rejection would end the process.
  closed.catch(() => undefined);
  const written = Promise.race([pipeline(zip.outputStream, file, { signal }), failed]);
  // Handled for the same reason. `addStream` also waits for `written`, because a stream never ends once the file has failed.
  written.catch(() => undefined);
  try {
    await write({
      add: (name, content) => zip.addBuffer(Buffer.from(content), name, { compressionLevel: COMPRESSION_LEVEL }),
      addStream: async (name, content) => {
        zip.addReadStream(content, name, { compressionLevel: COMPRESSION_LEVEL });
        try {
          await Promise.race([finished(content), written]);
        } catch (error) {
          // Discards the rest of the stream. Otherwise its source, such as a PostgreSQL statement, would wait forever.
          content.unpipe().resume();
          throw error;
        }
      },
    });
    zip.end();
    await written;
  } finally {
    file.destroy();
    await closed.catch(() => undefined);
  }
}

/** Flushes a directory to the disk, so that the names of its files survive a power failure. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The files of an archive. */
export interface ArchiveReader {
  /** The size of the archive itself. */
  readonly bytes: number;
  /** Returns the text of a small file. @throws BackupFileError when the file is missing, too large or damaged */
  read(name: string): Promise<string>;
  /**
   * Returns the unpacked size of a file in bytes, according to the archive's directory. `open` never passes on more bytes.
   * @param bytes the expected size, if it is known
   * @throws BackupFileError when the file is missing, or the size is not the expected one
   */
  checkedSize(name: string, bytes?: number): number;
  /** Opens a file of any size. The stream fails when it exceeds `checkedSize`, or at its end if the checksum is wrong. */
  open(name: string): Promise<Readable>;
}

/** Limits the size of files that are read into memory: the manifest and the secrets have some kilobytes each. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
/** Limits the files of an archive, because each takes memory even if it is not read. Each table has one file. */
const MAX_ENTRIES = 1_000;

/**
 * Opens a file for reading at any position.
 * @throws BackupFileError when the file is missing or unreadable, or has no positions, as a pipe: reading it might never end
 */
async function openFile(path: string): Promise<FileHandle> {
  // O_NONBLOCK: opening a pipe does not wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === "ENOENT") throw new BackupFileError(`There is no file ${path}.`);
    if (code === "EACCES" || code === "EPERM")
      throw new BackupFileError(`This account may not read ${path}: allow it.`);
    // The path is a socket.
    if (code === "ENXIO") throw notAFile(path);
    throw error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(path);
}

/** Returns the error for a path that is no regular file. */
function notAFile(path: string): BackupFileError {
  return new BackupFileError(
    `${path} is not a file: a backup is read from its end, which a directory, a pipe or a device does not have. Name the file, or save what comes as one first.`,
  );
}

/**
 * Reads an archive.
 * @throws BackupFileError when the file is missing or unreadable, is not an archive, or is damaged
 */
export async function readArchive<Result>(
  path: string,
  work: (archive: ArchiveReader) => Promise<Result>,
): Promise<Result> {
  const file = await openFile(path);
  const damaged = (error: unknown) =>
    new BackupFileError(
      `${path} is not a backup, or it is damaged: ${error instanceof Error ? error.message : String(error)}`,
    );
  try {
    const { size } = await file.stat();
    const entries = new Map<string, yauzl.Entry>();
    const { default: reader } = await import("yauzl");
    const zip = await reader.fromFdPromise(file.fd, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
      throw damaged(error);
    });
    if (zip.entryCount > MAX_ENTRIES) throw damaged(new Error(`it has ${zip.entryCount} files`));
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
    const entryOf = (name: string): yauzl.Entry => {
      const entry = entries.get(name);
      if (entry === undefined) throw damaged(new Error(`${name} is missing`));
      return entry;
    };
    const checkedSize = (name: string, bytes?: number): number => {
      const { uncompressedSize } = entryOf(name);
      if (bytes !== undefined && uncompressedSize !== bytes)
        throw damaged(new Error(`${name} unpacks to ${uncompressedSize} bytes instead of ${bytes}`));
      return uncompressedSize;
    };
    const openEntry = async (name: string): Promise<Readable> => {
      const entry = entryOf(name);
      const packed = await zip.openReadStreamPromise(entry);
      const checked = verifyChecksum(entry.crc32, () => damaged(new Error(`the checksum of ${name} is wrong`)));
      packed.on("error", (error) => checked.destroy(damaged(error)));
      checked.on("close", () => packed.destroy());
      return packed.pipe(checked);
    };
    const read = async (name: string) => {
      if (entryOf(name).uncompressedSize > MAX_TEXT_BYTES) throw damaged(new Error(`${name} is too large`));
      return textOf(await openEntry(name));
    };
    return await work({ bytes: size, checkedSize, open: openEntry, read });
  } finally {
    await file.close();
  }
}

/** Passes bytes on. Fails at the end, with the error of `failure`, if their checksum is not the expected one. */
function verifyChecksum(expected: number, failure: () => Error): Transform {
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush: (done) => done(sum === expected ? null : failure()),
  });
}

const LINE_FEED = 10;
/** Maximum bytes of a row. PostgreSQL keeps a whole row in memory. None of our values has a tenth of this size. */
const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Passes a table's rows on as `copy` writes them, and counts them: each row is a line, because line ends in values are
 * escaped. Fails with a BackupFileError when a row is longer than any real one, or when there are more than `maxRows` rows.
 */
export class RowCounter extends Transform {
  count = 0;
  bytes = 0;
  readonly #table: string;
  readonly #maxRows: number;
  /** Bytes so far of the row that has not ended yet. */
  #length = 0;

  constructor(table: string, maxRows = Infinity) {
    super();
    this.#table = table;
    this.#maxRows = maxRows;
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, chunk?: Buffer) => void,
  ): void {
    /** The index of the last line end in the chunk; -1: there is none. */
    let lastLineEnd = -1;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
      this.count++;
      this.#length = 0;
      lastLineEnd = at;
    }
    this.#length += chunk.length - (lastLineEnd + 1);
    this.bytes += chunk.length;
    const damage = this.#damage();
    if (damage === undefined) done(null, chunk);
    else done(new BackupFileError(`The backup is damaged: ${this.#table} has ${damage}.`));
  }

  #damage(): string | undefined {
    if (this.#length > MAX_ROW_BYTES) return "a row that is longer than any of ours";
    if (this.count > this.#maxRows) return `more rows than the ${this.#maxRows} that its manifest.json says`;
    return undefined;
  }
}
