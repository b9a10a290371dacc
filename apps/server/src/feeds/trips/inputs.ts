import { createReadStream, readSync } from "node:fs";
import { open, readdir, rm, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { type Readable, Transform } from "node:stream";
import { crc32 } from "node:zlib";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import type yauzl from "yauzl";
import { createOutgoingClient, isAddress, type OutgoingResponse, shownAddress } from "../outgoing.ts";
import { ImportFileError } from "./problems.ts";
import { readRange } from "./spool.ts";

/*
 * Finds the trip files that the arguments of an import name: files, zip archives, folders, addresses and standard input.
 * Copies an input to a temporary file if it cannot be opened where it is: a download, a pipe, or an archive in an archive.
 * Limits protect against zip bombs and endless downloads.
 *
 * The file has three parts: reading a zip archive (`readArchive`), downloading (`download`), and the search that uses both
 * (`findInputs`).
 */

/** Bytes of one read. Too low: costs processor time for more promises. Too high: takes memory. */
export const CHUNK_BYTES = 256 * 1024;

/** One trip file: on disk, in an archive, or copied here from an address, a pipe or standard input. */
export interface TripInput {
  /** The input's name in messages and reports. */
  readonly name: string;
  /** The number of bytes of the stream that `open` returns. */
  readonly size: number;
  /** True: a text file that was found in a folder or archive, and may be something else, such as a README. */
  readonly mayBeOther?: boolean;
  /** How much text may still be read, from all inputs together. */
  readonly textBudget?: TextBudget | undefined;
  /** Opens a stream of the file's bytes, which may be compressed with gzip. */
  open(): Promise<Readable>;
}

/** A limit on the bytes of text of several inputs together. `left` decreases as text is read. */
export interface TextBudget {
  readonly limit: number;
  left: number;
}

/** Formats a number of bytes for people: `64 MiB`. */
export function inBinaryUnits(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number(value.toFixed(1))} ${units[unit] ?? ""}`;
}

/** A file in a zip archive. */
interface ArchiveEntry {
  readonly path: string;
  /** Bytes of the file when it is unpacked. */
  readonly size: number;
  open(): Promise<Readable>;
}

/** The limits on the content of an archive. */
interface ArchiveBounds {
  /** Bytes of all its files together when they are unpacked. */
  readonly bytes: number;
  readonly files: number;
}

/**
 * Lists the files of a zip archive in the order of their paths, without hidden files and those that macOS adds. The caller
 * closes `fd` after it has read the last file.
 * @throws ImportFileError when the archive is broken or too large. Opening a file throws when it is encrypted or packed with
 *   an unknown method.
 */
async function readArchive(fd: number, most: ArchiveBounds): Promise<readonly ArchiveEntry[]> {
  const { default: reader } = await import("yauzl");
  const zip = await withArchiveErrors(() => reader.fromFdPromise(fd, { lazyEntries: true, autoClose: false }));
  const found: yauzl.Entry[] = [];
  let size = 0;
  await withArchiveErrors(async () => {
    for await (const entry of zip.eachEntry()) {
      if (isFolder(entry) || isLeftover(entry.fileName)) continue;
      found.push(entry);
      size += entry.uncompressedSize;
      // The errors have no line (null), because they are about the whole archive.
      if (found.length > most.files) {
        throw new ImportFileError("too_large", null, "the zip archive, with those in it, has more files than are read");
      }
      if (size > most.bytes) {
        throw new ImportFileError(
          "too_large",
          null,
          `the zip archive unpacks to more than ${inBinaryUnits(most.bytes)}, more than trips of its size do or than may be read`,
        );
      }
    }
  });
  return found
    .map((entry) => ({ path: entry.fileName, size: entry.uncompressedSize, open: () => openEntry(zip, entry) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

async function openEntry(zip: yauzl.ZipFile, entry: yauzl.Entry): Promise<Readable> {
  if (entry.isEncrypted()) throw broken("it is encrypted: unpack it with its password first");
  if (!entry.canDecodeFileData()) {
    throw broken(
      `it is packed by method ${entry.compressionMethod}, which is not understood: unpack it first, or pack it as usual (deflate)`,
    );
  }
  const packed = await withArchiveErrors(() => zip.openReadStreamPromise(entry));
  const checked = verifyChecksum(entry.crc32);
  // Passes an error of the packed stream on to its reader. Without this listener the error would end the process.
  packed.on("error", (error) => checked.destroy(asArchiveError(error)));
  checked.on("close", () => packed.destroy());
  return packed.pipe(checked);
}

/** Returns a stream that passes bytes through, and fails at the end if their checksum is not the expected one. */
function verifyChecksum(expected: number): Transform {
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush(done) {
      done(sum === expected ? null : broken("its checksum is wrong: it was damaged on its way"));
    },
  });
}

function isFolder({ fileName }: yauzl.Entry): boolean {
  return fileName.endsWith("/");
}

/** Tells whether a file in an archive is not the operator's data: a resource fork of macOS, or a hidden file. */
function isLeftover(path: string): boolean {
  return path.split("/").includes("__MACOSX") || basename(path).startsWith(".");
}

/** Runs work on an archive. Turns whatever it throws into an ImportFileError. */
async function withArchiveErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asArchiveError(error);
  }
}

function asArchiveError(error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  return broken(error instanceof Error ? error.message : String(error), { cause: error });
}

/** Returns the error for an archive that cannot be read. @param why the end of the error's sentence */
function broken(why: string, options?: ErrorOptions): ImportFileError {
  return new ImportFileError("broken_zip", null, `the zip archive cannot be read: ${why}`, options);
}

/** Most redirects of a download. Operators' links lead to object stores by one or two redirects. */
const MAX_REDIRECTS = 5;

/** Limits of a download. */
interface DownloadLimits {
  /** Milliseconds for the whole download. */
  readonly timeoutMs: number;
  /** Milliseconds for which the server may send nothing while this process waits for it. */
  readonly silenceMs: number;
  /** Aborts the download. */
  readonly signal: AbortSignal;
}

/**
 * Downloads an address. A user and password in the address are sent to its own origin only, not to the targets of redirects
 * elsewhere.
 * @throws ImportFileError when the download fails
 */
export async function* download(address: string, limits: DownloadLimits): AsyncGenerator<Buffer, void, undefined> {
  const { signal } = limits;
  const silent = new AbortController();
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  const startTimer = () => setTimeout(() => silent.abort(), limits.silenceMs);
  let silence = startTimer();
  let answer: OutgoingResponse | undefined;
  try {
    answer = await request(address, AbortSignal.any([signal, timeout, silent.signal]));
    const { ok, status, body } = answer.response;
    if (!ok || body === null) throw new Error(`the server answered HTTP ${status}`);
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      // No timer runs while the caller uses the chunk: this process makes the server wait then, however long that takes.
      clearTimeout(silence);
      yield Buffer.from(chunk);
      silence = startTimer();
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw asDownloadError(error, { isSilent: silent.signal.aborted, isLate: timeout.aborted }, limits);
  } finally {
    clearTimeout(silence);
    await answer?.close();
  }
}

/** Sends the request of a download, and follows redirects. */
async function request(address: string, signal: AbortSignal): Promise<OutgoingResponse> {
  const url = URL.parse(address);
  if (url === null) throw new Error("it is not a valid URL");
  const credentials = takeCredentials(url);
  return createOutgoingClient(url).get(url, {
    headers: ({ origin }) => ({ accept: "*/*", ...(origin === url.origin ? credentials : {}) }),
    maxRedirects: MAX_REDIRECTS,
    // No limit here, because the reader counts the bytes. A response that never yields any byte ends by `silenceMs`.
    maxBytes: Number.POSITIVE_INFINITY,
    signal,
  });
}

/** Moves a URL's user and password to an `Authorization` header, because `fetch` does not accept them in a URL. */
function takeCredentials(url: URL): { readonly authorization?: string } {
  if (url.username === "" && url.password === "") return {};
  const text = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = "";
  url.password = "";
  return { authorization: `Basic ${Buffer.from(text).toString("base64")}` };
}

/** Returns the error of a failed download. An ImportFileError is returned unchanged. */
function asDownloadError(
  error: unknown,
  { isSilent, isLate }: { readonly isSilent: boolean; readonly isLate: boolean },
  { silenceMs, timeoutMs }: DownloadLimits,
): ImportFileError {
  if (error instanceof ImportFileError) return error;
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  let why = cause instanceof Error ? cause.message : String(cause);
  if (isLate) why = `it was not complete after ${timeoutMs / 1000} s`;
  if (isSilent) why = `the server sent nothing for ${silenceMs / 1000} s`;
  return new ImportFileError("unreadable", null, `it cannot be downloaded: ${why}`, { cause: error });
}

/** The locations to search for inputs, and the dependencies of the search. */
export interface InputSearch {
  /** Files, zip archives, folders of such, addresses, or `-` for standard input. */
  readonly arguments: readonly string[];
  readonly standardInput: Readable;
  readonly standardInputName?: string | undefined;
  /** Bytes of text that all inputs may have together. */
  readonly maxTextBytes?: number | undefined;
  /** The directory for copies of inputs until the import ends. */
  readonly temporaryDirectory: string;
  /** The prefix of the names of these copies. */
  readonly name: string;
  readonly downloads: DownloadLimits;
  /** Called while an input is copied, with its name and the number of bytes copied so far. */
  onBytes(name: string, bytes: number): void;
}

/** The result of a search for inputs. */
export interface FoundInputs {
  readonly inputs: readonly TripInput[];
  readonly rejected: readonly { readonly name: string; readonly error: ImportFileError }[];
  /** Closes archives and removes copies. */
  close(): Promise<void>;
}

/** Most bytes of a copied input: ten times the largest month that any operator publishes. */
const MAX_COPY_BYTES = 16 * 1024 ** 3;
/**
 * Maximum ratio of the unpacked size of an archive or gzip file to its own size. Trip files have a ratio of about eight; a
 * much higher ratio indicates a zip bomb.
 */
export const MAX_UNPACK_RATIO = 100;
/** Bytes that any such file may unpack to, whatever the ratio: a small file of many equal rows has a very high ratio. */
export const ALWAYS_ALLOWED_BYTES = 64 * 1024 ** 2;
/**
 * Most files in an archive, including those of archives in it. Archives of trips have twelve files, or a few hundred. The
 * names of millions of files, which an archive of archives can contain in few bytes, would fill the memory and the report.
 */
const MAX_ARCHIVE_FILES = 10_000;
/** How deep archives may be nested. Two levels: an archive of a year may contain an archive for each month. */
const MAX_ARCHIVE_DEPTH = 2;

/** Names of files that may be trip files, plain or compressed with gzip. */
const TRIP_FILE = /\.(?:csv|txt)(?:\.gz)?$|\.gz$/i;
/** Of these, names that some operators give to trip files, but that something else, such as a README, may have too. */
const TEXT = /\.txt$/i;
const ARCHIVE = /\.zip$/i;

/** The state of a search. */
interface Finding {
  readonly search: InputSearch;
  readonly textBudget: TextBudget | undefined;
  /** The inputs that were found so far. */
  readonly inputs: TripInput[];
  readonly rejected: FoundInputs["rejected"][number][];
  /** Functions that close an archive or remove a copy. The caller of `findInputs` runs them at the end of the import. */
  readonly closing: (() => Promise<void>)[];
}

/** How many bytes and files an archive and the archives in it may still have. Decreases as they are found. */
type Budget = { -readonly [Bound in keyof ArchiveBounds]: ArchiveBounds[Bound] };

/** Finds the trip files that a command names. Returns unreadable files as `rejected`, and goes on with the others. */
export async function findInputs(search: InputSearch): Promise<FoundInputs> {
  const { maxTextBytes: limit } = search;
  const textBudget = limit === undefined ? undefined : { limit, left: limit };
  const finding: Finding = { search, textBudget, inputs: [], rejected: [], closing: [] };
  const close = async () => {
    await Promise.all(finding.closing.map((closeOne) => closeOne()));
  };
  try {
    for (const argument of search.arguments) await findArgument(finding, argument);
  } catch (error) {
    await close();
    throw error;
  }
  return { inputs: finding.inputs, rejected: finding.rejected, close };
}

/** Finds the inputs of one argument: standard input, an address or a path. */
async function findArgument(finding: Finding, argument: string): Promise<void> {
  const { standardInput, standardInputName: name = "standard input", downloads } = finding.search;
  if (argument === "-") {
    await findOrReject(finding, name, () => findInCopy(finding, name, standardInput));
  } else if (isAddress(argument)) {
    const address = shownAddress(argument);
    await findOrReject(finding, address, () => findInCopy(finding, address, download(argument, downloads)));
  } else {
    await findOrReject(finding, argument, () => findPath(finding, argument));
  }
}

/** Adds an input that was found. All inputs share one text budget. */
function addInput({ inputs, textBudget }: Finding, input: TripInput): void {
  inputs.push({ ...input, textBudget });
}

/** Runs `find`. Adds an error of it to the rejected inputs, so that the search goes on. */
async function findOrReject({ rejected }: Finding, name: string, find: () => Promise<void>): Promise<void> {
  try {
    await find();
  } catch (error) {
    rejected.push({ name, error: asImportFileError(error) });
  }
}

/** Finds the inputs at a path. @param isOneOfMany whether the file was found in a folder, rather than named */
async function findPath(finding: Finding, path: string, isOneOfMany = false): Promise<void> {
  const about = await stat(path);
  if (about.isDirectory()) return findFolder(finding, path);
  // A pipe is copied, because it can be read only once.
  if (!about.isFile()) return findInCopy(finding, path, createReadStream(path));
  const file = await open(path);
  if (!isArchive(file.fd)) {
    await file.close();
    const openFile = async () => (await open(path)).createReadStream({ highWaterMark: CHUNK_BYTES });
    addInput(finding, { name: path, size: about.size, mayBeOther: isOneOfMany && TEXT.test(path), open: openFile });
    return undefined;
  }
  finding.closing.push(() => file.close());
  return findArchive(finding, path, file.fd, budgetOf(finding, about.size), 1);
}

/** Finds the inputs in a folder and its subfolders. Skips hidden files and those that macOS adds. */
async function findFolder(finding: Finding, path: string): Promise<void> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  // A subfolder is no file, whatever its name: its own files are among the entries.
  const files = entries.filter((entry) => !entry.isDirectory());
  const names = files.map((file) => relative(path, join(file.parentPath, file.name))).toSorted();
  const wanted = names.filter(
    (name) => (TRIP_FILE.test(name) || ARCHIVE.test(name)) && !/(?:^|[\\/])(?:\.|__MACOSX)/.test(name),
  );
  if (wanted.length === 0) throw new ImportFileError("empty", null, "the folder has no .csv, .csv.gz or .zip file");
  for (const name of wanted) {
    const file = join(path, name);
    await findOrReject(finding, file, () => findPath(finding, file, true));
  }
}

/** Finds the inputs in an archive, and in the archives in it. @param depth 1 for an archive that lies in no other */
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
    addInput(finding, { ...about, open: () => entry.open() });
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
  if (isArchive(file.fd)) return findArchive(finding, name, file.fd, budgetOf(finding, file.size), 1);
  addInput(finding, { name, size: file.size, open: () => Promise.resolve(file.read()) });
  return undefined;
}

/** Copies bytes into a temporary file, which exists until the caller closes the `FoundInputs`. */
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

/** The first bytes of a zip archive with files, and of an empty one. */
const ZIP = ["PK\u0003\u0004", "PK\u0005\u0006"];

function isArchive(fd: number): boolean {
  const head = Buffer.alloc(4);
  return readSync(fd, head, 0, head.length, 0) === head.length && ZIP.includes(head.toString("latin1"));
}

/** Returns the budget of an archive that lies in no other. @param packedSize bytes of the archive file */
function budgetOf({ textBudget }: Finding, packedSize: number): Budget {
  const allowed = packedSize * MAX_UNPACK_RATIO + ALWAYS_ALLOWED_BYTES;
  return { bytes: Math.min(allowed, textBudget?.left ?? allowed), files: MAX_ARCHIVE_FILES };
}

/** Turns an error about a file into an ImportFileError. Throws an error that is a bug. */
function asImportFileError(error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  // An error with a code comes from the operating system. Any other error is a bug, and is thrown.
  if (!(error instanceof Error) || !("code" in error)) throw error;
  const text = error.code === "ENOENT" ? "there is no such file" : error.message;
  return new ImportFileError("unreadable", null, `it cannot be read: ${text}`, { cause: error });
}

/** A temporary file. It has no name in its directory, so that the system deletes it when the process ends. */
interface TemporaryFile {
  readonly fd: number;
  readonly size: number;
  /** Returns a stream of all its bytes. May be called several times. */
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Copies bytes into a temporary file.
 * @param greatestSize most bytes
 * @param onBytes called with the number of bytes copied so far
 * @throws ImportFileError when there are more bytes; the error of `source` when that fails
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
  // Removes only the name: the file stays until it is closed.
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
