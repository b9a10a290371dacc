import { createReadStream, readSync } from "node:fs";
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import { isAddress, shownAddress } from "../../outgoing.ts";
import { ImportFileError } from "../problems.ts";
import { readRange } from "../spool.ts";
import { type ArchiveBounds, readArchive } from "./archive.ts";
import { download, type DownloadLimits } from "./download.ts";
import { CHUNK_BYTES, inBinaryUnits, type TripInput } from "./input.ts";

/** The locations to search for inputs, and the dependencies of the search. */
export interface InputSearch {
  /** Files, zip archives, folders of such, addresses, or `-` for standard input. */
  readonly arguments: readonly string[];
  readonly standardInput: Readable;
  /** The directory for copies of inputs until the import ends. */
  readonly temporaryDirectory: string;
  /** Begins the names of files in it. */
  readonly name: string;
  readonly downloads: DownloadLimits;
  /** Told how many bytes of something that is brought here have come. */
  onBytes(name: string, bytes: number): void;
}

/** The result of a search for inputs. */
export interface FoundInputs {
  readonly inputs: readonly TripInput[];
  readonly rejected: readonly { readonly name: string; readonly error: ImportFileError }[];
  /** Closes archives and removes copies. */
  close(): Promise<void>;
}

/** Bytes that are brought here at most: ten times the largest month that any operator publishes. */
const MAX_COPY_BYTES = 16 * 1024 ** 3;
/**
 * Limits the ratio to which an archive may unpack. Trip files shrink to about an eighth; a much higher ratio indicates a
 * zip bomb.
 */
export const MAX_UNPACK_RATIO = 100;
/** Bytes that any archive may unpack to: a small file of many equal rows shrinks to less. */
export const ALWAYS_ALLOWED_BYTES = 64 * 1024 ** 2;
/**
 * Files that an archive may hold, those of archives in it included. Trips have twelve, or a few hundred; a list of millions,
 * which shrinks to nothing in an archive of archives, would fill the memory and the report.
 */
const MAX_ARCHIVE_FILES = 10_000;
/** Archives in archives: a year's archive has one for each month. */
const MAX_ARCHIVE_DEPTH = 2;

const TRIP_FILE = /\.(?:csv|txt)(?:\.gz)?$|\.gz$/i;
/** A README beside the trips is called so, and so are the trips of some operators. */
const TEXT = /\.txt$/i;
const ARCHIVE = /\.zip$/i;

/** The state of a search. */
interface Finding {
  readonly search: InputSearch;
  readonly inputs: TripInput[];
  readonly refused: FoundInputs["rejected"][number][];
  readonly closing: (() => Promise<void>)[];
}

/** The remaining allowance of an archive and the archives in it. */
type Budget = { -readonly [Bound in keyof ArchiveBounds]: ArchiveBounds[Bound] };

/** Finds the trip files that a command names. Rejects unreadable ones by name; the others are found all the same. */
export async function findInputs(search: InputSearch): Promise<FoundInputs> {
  const finding: Finding = { search, inputs: [], refused: [], closing: [] };
  const close = async () => {
    await Promise.all(finding.closing.map((closeOne) => closeOne()));
  };
  try {
    for (const argument of search.arguments) await findArgument(finding, argument);
  } catch (error) {
    await close();
    throw error;
  }
  return { inputs: finding.inputs, rejected: finding.refused, close };
}

async function findArgument(finding: Finding, argument: string): Promise<void> {
  const { standardInput, downloads } = finding.search;
  if (argument === "-") {
    await findOrReject(finding, STANDARD_INPUT, () => findInCopy(finding, STANDARD_INPUT, standardInput));
  } else if (isAddress(argument)) {
    const name = shownAddress(argument);
    await findOrReject(finding, name, () => findInCopy(finding, name, download(argument, downloads)));
  } else {
    await findOrReject(finding, argument, () => findPath(finding, argument));
  }
}

const STANDARD_INPUT = "standard input";

/** Whatever is refused is noted under its name. */
async function findOrReject({ refused }: Finding, name: string, find: () => Promise<void>): Promise<void> {
  try {
    await find();
  } catch (error) {
    refused.push({ name, error: asImportFileError(error) });
  }
}

async function findPath(finding: Finding, path: string, isOneOfMany = false): Promise<void> {
  const about = await stat(path);
  if (about.isDirectory()) return findFolder(finding, path);
  // A pipe can be read but once.
  if (!about.isFile()) return findInCopy(finding, path, createReadStream(path));
  const file = await open(path);
  if (!isArchive(file.fd)) {
    await file.close();
    const openFile = async () => (await open(path)).createReadStream({ highWaterMark: CHUNK_BYTES });
    finding.inputs.push({ name: path, size: about.size, mayBeOther: isOneOfMany && TEXT.test(path), open: openFile });
    return undefined;
  }
  finding.closing.push(() => file.close());
  return findArchive(finding, path, file.fd, budgetOf(about.size), 1);
}

async function findFolder(finding: Finding, path: string): Promise<void> {
  const names = (await readdir(path, { recursive: true })).toSorted();
  const wanted = names.filter(
    (name) => (TRIP_FILE.test(name) || ARCHIVE.test(name)) && !/(?:^|[\\/])(?:\.|__MACOSX)/.test(name),
  );
  if (wanted.length === 0) throw new ImportFileError("empty", null, "the folder has no .csv, .csv.gz or .zip file");
  for (const name of wanted) {
    const file = join(path, name);
    await findOrReject(finding, file, () => findPath(finding, file, true));
  }
}

async function findArchive(finding: Finding, name: string, fd: number, budget: Budget, depth: number): Promise<void> {
  const entries = await readArchive(fd, budget);
  budget.files -= entries.length;
  const files = entries.filter(({ path }) => TRIP_FILE.test(path));
  const archives = entries.filter(({ path }) => ARCHIVE.test(path));
  if (files.length + archives.length === 0) {
    throw new ImportFileError("empty", null, "the zip archive has no .csv file in it");
  }
  for (const entry of files) {
    budget.bytes -= entry.size;
    const about = { name: `${name}/${entry.path}`, size: entry.size, mayBeOther: TEXT.test(entry.path) };
    finding.inputs.push({ ...about, open: () => entry.open() });
  }
  for (const entry of archives) {
    const inner = `${name}/${entry.path}`;
    await findOrReject(finding, inner, async () => {
      if (depth === MAX_ARCHIVE_DEPTH)
        throw new ImportFileError("broken_zip", null, "it lies too deep in other archives");
      budget.bytes -= entry.size;
      const file = await copyHere(finding, inner, await entry.open(), entry.size);
      await findArchive(finding, inner, file.fd, budget, depth + 1);
    });
  }
}

/** Copies a stream to a temporary file, and finds the inputs in it. */
async function findInCopy(finding: Finding, name: string, source: AsyncIterable<Buffer>): Promise<void> {
  const file = await copyHere(finding, name, source, MAX_COPY_BYTES);
  if (isArchive(file.fd)) return findArchive(finding, name, file.fd, budgetOf(file.size), 1);
  finding.inputs.push({ name, size: file.size, open: () => Promise.resolve(file.read()) });
  return undefined;
}

/** Copies bytes into a file that is there until the search is closed. */
async function copyHere(
  { search, closing }: Finding,
  name: string,
  source: AsyncIterable<Buffer>,
  greatestSize: number,
): Promise<TemporaryFile> {
  const fileName = `${search.name}-${closing.length}`;
  const report = (bytes: number) => search.onBytes(name, bytes);
  const file = await copyToTemporaryFile(search.temporaryDirectory, fileName, source, greatestSize, report);
  closing.push(() => file.close());
  return file;
}

const ZIP = ["PK\u0003\u0004", "PK\u0005\u0006"];

function isArchive(fd: number): boolean {
  const head = Buffer.alloc(4);
  return readSync(fd, head, 0, head.length, 0) === head.length && ZIP.includes(head.toString("latin1"));
}

function budgetOf(packedSize: number): Budget {
  return { bytes: packedSize * MAX_UNPACK_RATIO + ALWAYS_ALLOWED_BYTES, files: MAX_ARCHIVE_FILES };
}

function asImportFileError(error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  // Errors of the operating system about a path; anything else is a bug.
  if (!(error instanceof Error) || !("code" in error)) throw error;
  const text = error.code === "ENOENT" ? "there is no such file" : error.message;
  return new ImportFileError("unreadable", null, `it cannot be read: ${text}`, { cause: error });
}

/** A file of ours without a name: a crash leaves nothing. */
interface TemporaryFile {
  readonly fd: number;
  readonly size: number;
  /** Returns its bytes; may be called several times. */
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Copies bytes into a temporary file.
 * @param greatestSize bytes at most
 * @param onBytes told how many bytes have come so far
 * @throws ImportFileError when there are more bytes, or `source` fails
 */
async function copyToTemporaryFile(
  directory: string,
  name: string,
  source: AsyncIterable<Buffer>,
  greatestSize: number,
  onBytes: (bytes: number) => void,
): Promise<TemporaryFile> {
  makeDirectory(directory);
  const path = join(directory, `${name}.input`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  let size = 0;
  try {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > greatestSize) {
        throw new ImportFileError("too_large", null, `it has more than ${inBinaryUnits(greatestSize)}`);
      }
      await file.writeFile(chunk);
      onBytes(size);
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  return {
    fd: file.fd,
    size,
    read: () => readRange(file, 0, size),
    close: () => file.close(),
  };
}
