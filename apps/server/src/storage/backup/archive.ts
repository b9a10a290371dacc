import { once } from "node:events";
import { constants, createWriteStream } from "node:fs";
import { type FileHandle, lstat, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type Readable, Transform } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { finished, pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import yauzl from "yauzl";
import yazl from "yazl";
import { z } from "zod";
import { findLatestKey } from "../../webhooks/endpoints/endpoint-secrets.ts";
import { createSecretCipher } from "../../webhooks/endpoints/secret.ts";
import type { Queryable } from "../db/database.ts";
import { codeOf, isDiskFull } from "../db/errors.ts";
import { loadSecrets } from "../secrets/secrets.ts";

/** Another number is another form of backups, which this program cannot read. */
export const FORMAT = 1;

/** Limits the days of a table: more than ten years. Each is a partition, which takes time and memory. */
const MAX_DAYS = 4_000;

/** The description of a backup: the file `manifest.json` in its archive. */
export const manifestShape = z.object({
  format: z.literal(FORMAT),
  /** The data are those of this instant. RFC 3339. */
  made_at: z.string().datetime(),
  /** The version of the program that wrote it. */
  program: z.string(),
  /** The numbers of the migrations that the schema had seen. */
  migrations: z.array(z.number().int().positive()).min(1),
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      /** The days that had partitions, `2026-01-31`, of a table by day. */
      days: z.array(z.string().date()).max(MAX_DAYS).optional(),
      rows: z.number().int().min(0),
      /** The size of the rows, before they are compressed. Backups of 0.1.0 lack it: their archive's directory alone has it. */
      bytes: z.number().int().min(0).optional(),
    }),
  ),
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
  const latest = await findLatestKey(db);
  if (latest === undefined) return text;
  // The file is there, so none is made.
  const { webhookKeys } = await loadSecrets(path, () => new Uint8Array());
  if (!createSecretCipher(webhookKeys).hasKey(latest.fingerprint)) {
    throw new BackupFileError(
      `The secrets file ${path} is not the one that the database is used with: set SECRETS_FILE as the service has it.`,
    );
  }
  return text;
}

/** A backup that cannot be read at all, or not by this program; the message names the reason and the remedy. */
export class BackupFileError extends Error {
  override readonly name = "BackupFileError";
}

/** Rows of a table take a third of their size. A higher level takes several times as long and saves a tenth of that. */
const COMPRESSION_LEVEL = 1;

/** The files of an archive that is being written. */
export interface ArchiveWriter {
  add(name: string, content: string): void;
  /** Adds the content of a stream; resolves when it has ended. */
  addStream(name: string, content: Readable): Promise<void>;
}

/**
 * Claims a file's name by creating its draft, which only one of two processes can do: otherwise one would overwrite the
 * other's draft.
 * @returns whether it was free
 * @throws BackupFileError when no file can be created there
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
 * Writes a zip archive that its owner alone can read, in a draft that was claimed. It has its name only when it is whole and
 * on the disk.
 * @returns its size in bytes
 * @throws BackupFileError when there is a file of that name
 */
export async function writeArchive(
  path: string,
  write: (archive: ArchiveWriter) => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  await assertFree(path);
  const draft = draftOf(path);
  try {
    const bytes = await writeZip(draft, write, signal);
    await rename(draft, path);
    await syncDirectory(dirname(path));
    return bytes;
  } catch (error) {
    await rm(draft, { force: true });
    if (!isDiskFull(error)) throw error;
    throw new BackupFileError(`The disk of ${dirname(path)} is full: free space there, and back up again.`);
  }
}

/** Under which name a file is written until it is whole. */
export function draftOf(path: string): string {
  return `${path}.part`;
}

async function writeZip(
  path: string,
  write: (archive: ArchiveWriter) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<number> {
  // A draft that was removed must not come back.
  signal?.throwIfAborted();
  const zip = new yazl.ZipFile();
  const failed = once(zip, "error").then(([error]) => Promise.reject(error as Error));
  // Closing waits for the disk.
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  const closed = once(file, "close");
  // `written` fails with the file. This promise then rejects too, and an unhandled rejection would end the process.
  closed.catch(() => undefined);
  const written = Promise.race([pipeline(zip.outputStream, file, { signal }), failed]);
  // Handled for the same reason. `addStream` races with it: a stream alone would wait for ever after the file has failed.
  written.catch(() => undefined);
  try {
    await write({
      add: (name, content) => zip.addBuffer(Buffer.from(content), name, { compressionLevel: COMPRESSION_LEVEL }),
      addStream: async (name, content) => {
        zip.addReadStream(content, name, { compressionLevel: COMPRESSION_LEVEL });
        try {
          await Promise.race([finished(content), written]);
        } catch (error) {
          // Read to its end: its source, such as a statement of PostgreSQL's, would wait for a reader for ever.
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
  return file.bytesWritten;
}

/** Makes the name of a file survive a power failure, as the file itself does. */
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
  readonly bytes: number;
  /** A small file. @throws BackupFileError when it is missing or damaged */
  read(name: string): Promise<string>;
  /**
   * Returns the bytes to which a file unpacks by the archive's own account; `open` never hands over more.
   * @param bytes what it should be, where that is known
   * @throws BackupFileError when it is another number
   */
  checkedSize(name: string, bytes?: number): number;
  /** A file of any size. Its stream fails as soon as it is larger than it should be, and at the end when its checksum is wrong. */
  open(name: string): Promise<Readable>;
}

/** Limits the entries that are read into memory: the manifest and the secrets have some kilobytes each. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
/** Files of an archive: a table has one. Each that is listed takes memory, whether it is read or not. */
const MAX_ENTRIES = 1_000;

/**
 * Opens a file for reading at any position.
 * @throws BackupFileError for a file without positions, such as a pipe, whose reading might never end
 */
async function openFile(path: string): Promise<FileHandle> {
  // Does not wait for a writer of a pipe.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === "ENOENT") throw new BackupFileError(`There is no file ${path}.`);
    if (code === "EACCES" || code === "EPERM")
      throw new BackupFileError(`This account may not read ${path}: allow it.`);
    // A socket.
    if (code === "ENXIO") throw notAFile(path);
    throw error;
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw notAFile(path);
}

function notAFile(path: string): BackupFileError {
  return new BackupFileError(
    `${path} is not a file: a backup is read from its end, which a directory, a pipe or a device does not have. Name the file, or save what comes as one first.`,
  );
}

/**
 * Reads an archive.
 * @throws BackupFileError when it is none, or damaged
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
    const zip = await yauzl.fromFdPromise(file.fd, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
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

/** Passes bytes on; fails at their end when they are not those that were packed. */
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
/** Bytes of a row. PostgreSQL keeps a whole one in memory, and no value of ours has a tenth of that. */
const MAX_ROW_BYTES = 64 * 1024 * 1024;

/**
 * Passes a table's rows on as `copy` writes them, and counts them: a row is a line, since line ends in values are escaped.
 * Fails with a BackupFileError as soon as a row is too long to be genuine, or there are more rows than there should be.
 */
export class RowCounter extends Transform {
  count = 0;
  bytes = 0;
  readonly #table: string;
  readonly #maxRows: number;
  /** Bytes of the row that goes on. */
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
    let last = -1;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
      this.count++;
      this.#length = 0;
      last = at;
    }
    this.#length += chunk.length - last - 1;
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
