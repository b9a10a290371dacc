import { createHash } from "node:crypto";
import { once } from "node:events";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip, zstdCompressSync } from "node:zlib";
import type { ExportFormat } from "@bikeshare/contract";
import type { SchemaElement } from "hyparquet-writer";
import { codeOf, isDiskFull } from "../../storage/db/errors.ts";
import type { CityClock } from "./months.rules.ts";

/*
 * Writes the rows of an exported file, as gzipped CSV or as Parquet. The file is a draft under another name until
 * `publishFile` renames it.
 */

/** A value of a row. Instants are milliseconds since 1970. */
export type Value = string | number | boolean | null;

/** A column of a file. */
export interface Column {
  readonly name: string;
  readonly type: "text" | "instant" | "number" | "integer" | "boolean";
  /** A description of the column, for the manifest. */
  readonly text: string;
}

/** The time zone and precision of instants in CSV. */
export interface InstantFormat {
  readonly clock: CityClock;
  readonly hasMilliseconds: boolean;
}

/** The file cannot be written; the message says why and what to do. */
export class ExportFileError extends Error {
  override readonly name = "ExportFileError";
}

/** The size and the checksum of a finished file. */
interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes the rows of a table into a file. */
export interface TableWriter {
  write(rows: readonly (readonly Value[])[]): Promise<void>;
  /** Writes the remaining rows. Afterwards the file is complete and on the disk. */
  finish(): Promise<WrittenFile>;
  /** Deletes the unfinished file. */
  abandon(): Promise<void>;
}

/**
 * Opens a file for the rows of a table. Overwrites an existing file, which is the draft of a process that was killed.
 * @throws ExportFileError when the file cannot be created
 */
export async function openTableWriter(
  path: string,
  format: ExportFormat,
  columns: readonly Column[],
  instants: InstantFormat,
): Promise<TableWriter> {
  const file = await openOutput(path);
  const writer = format === "csv" ? csvWriter(file, columns, instants) : await parquetWriter(file, columns);
  const explained = async <Result>(work: Promise<Result>) =>
    work.catch((error: unknown) => {
      throw explainFileError(error, path);
    });
  return {
    write: (rows) => explained(writer.write(rows)),
    finish: () => explained(writer.finish()),
    abandon: async () => {
      await writer.abandon();
      await rm(path, { force: true });
    },
  };
}

/** Renames a finished draft to its final name, and syncs the directory so that the name survives a power failure. */
export async function publishFile(draft: string, path: string): Promise<void> {
  await rename(draft, path);
  const directory = await open(dirname(path), "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Turns an error about a file into an ExportFileError that says what to do. Returns any other error unchanged. */
export function explainFileError(error: unknown, path: string): unknown {
  const directory = dirname(path);
  if (isDiskFull(error))
    return new ExportFileError(`The disk of ${directory} is full. Free space there, then export again.`);
  switch (codeOf(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return new ExportFileError(`There is no directory ${directory}. Create it, or name another one.`);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new ExportFileError(`This account may not write in ${directory}. Allow it, or name another directory.`);
    default:
      return error;
  }
}

/** A file that is being written, with the checksum of the bytes so far. */
class Output {
  bytes = 0;
  readonly #handle: FileHandle;
  readonly #sum = createHash("sha256");

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#sum.update(chunk);
    this.bytes += chunk.length;
    for (let written = 0; written < chunk.length;) {
      written += (await this.#handle.write(chunk, written)).bytesWritten;
    }
  }

  async finish(): Promise<WrittenFile> {
    await this.#handle.sync();
    await this.close();
    return { bytes: this.bytes, sha256: this.#sum.digest("hex") };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Creates the file, readable for the account's group. @throws ExportFileError */
async function openOutput(path: string): Promise<Output> {
  try {
    return new Output(await open(path, "w", 0o640));
  } catch (error) {
    throw explainFileError(error, path);
  }
}

/** Least characters of text that are passed to the compression at a time. */
const PIECE_CHARACTERS = 64 * 1024;

/** Writes gzipped CSV. */
function csvWriter(file: Output, columns: readonly Column[], { clock, hasMilliseconds }: InstantFormat): TableWriter {
  const gzip = createGzip({ level: 6 });
  /** Settles when all compressed bytes are in the file, or one could not be written. */
  const written = pipeline(gzip, async (chunks: AsyncIterable<Uint8Array>) => {
    for await (const chunk of chunks) await file.write(chunk);
  });
  // A failure is reported by a later write or by `finish`. This handler only prevents an unhandled rejection.
  written.catch(() => undefined);
  const push = async (text: string) => {
    // After a failure there is no `drain`: then `written` rejects instead.
    if (!gzip.write(text)) await Promise.race([once(gzip, "drain"), written]);
  };
  const isInstant = columns.map(({ type }) => type === "instant");
  const field = (value: Value, index: number): string => {
    if (value === null) return "";
    if (isInstant[index] === true) return clock.text(value as number, hasMilliseconds);
    return typeof value === "string" ? csvText(value) : String(value);
  };
  let text = `${columns.map(({ name }) => name).join(",")}\n`;
  return {
    async write(rows) {
      for (const row of rows) {
        let line = field(row[0] ?? null, 0);
        for (let index = 1; index < row.length; index++) line += `,${field(row[index] ?? null, index)}`;
        text += `${line}\n`;
        if (text.length < PIECE_CHARACTERS) continue;
        await push(text);
        text = "";
      }
    },
    async finish() {
      if (text !== "") gzip.write(text);
      gzip.end();
      await written;
      return file.finish();
    },
    async abandon() {
      gzip.destroy();
      await written.catch(() => undefined);
      await file.close().catch(() => undefined);
    },
  };
}

/** Writes a text as a field of CSV (RFC 4180). */
function csvText(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Rows of a Parquet row group, which are kept in memory until the group is written. Too low: makes files large and slow to
 * read. Too high: needs more memory, and blocks the thread for longer.
 */
const GROUP_ROWS = 20_000;

/** How Parquet stores the types of columns. Every column may be null. */
const parquetTypes: Readonly<Record<Column["type"], Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  instant: {
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
};

/** Writes Parquet, compressed with Zstandard. Instants need no format there: Parquet stores them as numbers, in UTC. */
async function parquetWriter(file: Output, columns: readonly Column[]): Promise<TableWriter> {
  // Loaded with the first such file: it takes 5 MB.
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const bytes = new ByteWriter();
  // Passes the bytes that the Parquet writer has made on to the file.
  const flush = async () => {
    const chunk = bytes.getBytes();
    bytes.index = 0;
    await file.write(chunk);
  };
  const root = { name: "rows", num_children: columns.length };
  const elements = columns.map(({ name, type }) => ({
    name,
    repetition_type: "OPTIONAL" as const,
    ...parquetTypes[type],
  }));
  // `finish` does nothing, because the table writer below flushes the rest and finishes the file itself.
  const parquet = new ParquetWriter({
    writer: Object.assign(bytes, { flush, finish: () => undefined }),
    schema: [root, ...elements],
    codec: "ZSTD",
    compressors: { ZSTD: (input) => zstdCompressSync(input) },
  });
  let group: Value[][] = columns.map(() => []);
  let rows = 0;
  const writeGroup = async () => {
    if (rows === 0) return;
    const columnData = columns.map(({ name }, index) => ({ name, data: group[index] ?? [] }));
    const size = rows;
    group = columns.map(() => []);
    rows = 0;
    await parquet.write({ columnData, rowGroupSize: size });
  };
  return {
    async write(added) {
      for (const row of added) {
        for (let index = 0; index < group.length; index++) group[index]?.push(row[index] ?? null);
        if (++rows === GROUP_ROWS) await writeGroup();
      }
    },
    async finish() {
      await writeGroup();
      await parquet.finish();
      await flush();
      return file.finish();
    },
    async abandon() {
      await file.close().catch(() => undefined);
    },
  };
}
