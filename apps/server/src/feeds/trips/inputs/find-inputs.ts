import { createReadStream, readSync } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { FileRefused } from "../problems.ts";
import { openArchive } from "./archive.ts";
import { download, type DownloadLimits, isAddress, shownAddress } from "./download.ts";
import { CHUNK_BYTES, type TripInput } from "./input.ts";
import { copyToTemporaryFile, type TemporaryFile } from "./temporary-file.ts";

/** Where inputs are looked for, and with what. */
export interface InputSearch {
  /** Files, zip archives, folders of such, addresses, or `-` for standard input. */
  readonly arguments: readonly string[];
  readonly standardInput: Readable;
  /** Where what comes from elsewhere is kept until the import is over. */
  readonly temporaryDirectory: string;
  /** Begins the names of files in it. */
  readonly name: string;
  readonly downloads: DownloadLimits;
  /** Told how many bytes of something that is brought here have come. */
  onBytes(name: string, bytes: number): void;
}

/** What was found. */
export interface FoundInputs {
  readonly inputs: readonly TripInput[];
  readonly refused: readonly { readonly name: string; readonly refusal: FileRefused }[];
  /** Closes archives and removes what was brought here. */
  close(): Promise<void>;
}

/** Bytes that are brought here at most: ten times the largest month that any operator publishes. */
const GREATEST_SIZE = 16 * 1024 ** 3;
/**
 * How many times its size an archive may unpack to. Trip files shrink to an eighth or so; what unpacks to far more is
 * made to fill the disk.
 */
export const GREATEST_RATIO = 100;
/** Bytes that any archive may unpack to: a small file of many equal rows shrinks to less. */
export const ALWAYS_ALLOWED = 64 * 1024 ** 2;
/** Archives in archives: a year's archive has one for each month. */
const GREATEST_DEPTH = 2;

const TRIP_FILE = /\.(?:csv|txt)(?:\.gz)?$|\.gz$/i;
const ARCHIVE = /\.zip$/i;

/** Finds the trip files that a command names. What cannot be read is refused by name; the others are found all the same. */
export async function findInputs(search: InputSearch): Promise<FoundInputs> {
  const finder = createFinder(search);
  try {
    for (const argument of search.arguments) {
      if (argument === "-")
        await finder.findIn("standard input", () => finder.bring("standard input", search.standardInput));
      else if (isAddress(argument)) {
        const name = shownAddress(argument);
        await finder.findIn(name, () => finder.bring(name, download(argument, search.downloads)));
      } else await finder.findIn(argument, () => finder.findPath(argument));
    }
  } catch (error) {
    await finder.close();
    throw error;
  }
  return { inputs: finder.inputs, refused: finder.refused, close: finder.close };
}

/** Bytes that archives may still unpack to. */
interface Budget {
  left: number;
}

function createFinder({ temporaryDirectory, name: prefix, onBytes }: InputSearch) {
  const inputs: TripInput[] = [];
  const refused: FoundInputs["refused"][number][] = [];
  const closing: (() => Promise<void>)[] = [];

  /** Whatever is refused is noted under its name. */
  async function findIn(name: string, find: () => Promise<void>): Promise<void> {
    try {
      await find();
    } catch (error) {
      refused.push({ name, refusal: asRefusal(error) });
    }
  }

  async function findPath(path: string): Promise<void> {
    const about = await stat(path);
    if (about.isDirectory()) return findFolder(path);
    // A pipe can be read but once.
    if (!about.isFile()) return bring(path, createReadStream(path));
    const file = await open(path);
    if (!isArchive(file.fd)) {
      await file.close();
      const openFile = async () => (await open(path)).createReadStream({ highWaterMark: CHUNK_BYTES });
      inputs.push({ name: path, size: about.size, open: openFile });
      return undefined;
    }
    closing.push(() => file.close());
    return findArchive(path, file.fd, budgetOf(about.size), 1);
  }

  async function findFolder(path: string): Promise<void> {
    const names = (await readdir(path, { recursive: true })).toSorted();
    const wanted = names.filter(
      (name) => (TRIP_FILE.test(name) || ARCHIVE.test(name)) && !/(?:^|[\\/])(?:\.|__MACOSX)/.test(name),
    );
    if (wanted.length === 0) throw new FileRefused("empty", null, "the folder has no .csv, .csv.gz or .zip file");
    for (const name of wanted) await findIn(join(path, name), () => findPath(join(path, name)));
  }

  async function findArchive(name: string, fd: number, budget: Budget, depth: number): Promise<void> {
    const { entries } = await openArchive(fd, budget.left);
    const files = entries.filter(({ path }) => TRIP_FILE.test(path));
    const archives = entries.filter(({ path }) => ARCHIVE.test(path));
    if (files.length + archives.length === 0) {
      throw new FileRefused("empty", null, "the zip archive has no .csv file in it");
    }
    for (const { size } of files) budget.left -= size;
    for (const { path, size, open: openEntry } of files) {
      inputs.push({ name: `${name}/${path}`, size, open: openEntry });
    }
    for (const entry of archives) {
      const inner = `${name}/${entry.path}`;
      await findIn(inner, async () => {
        if (depth === GREATEST_DEPTH) throw new FileRefused("broken_zip", null, "it lies too deep in other archives");
        budget.left -= entry.size;
        const file = await keep(await entry.open(), inner, entry.size);
        await findArchive(inner, file.fd, budget, depth + 1);
      });
    }
  }

  /** Brings bytes here, and finds what is in them. */
  async function bring(name: string, source: AsyncIterable<Buffer>): Promise<void> {
    const file = await keep(source, name, GREATEST_SIZE);
    if (isArchive(file.fd)) return findArchive(name, file.fd, budgetOf(file.size), 1);
    inputs.push({ name, size: file.size, open: () => Promise.resolve(file.read()) });
    return undefined;
  }

  async function keep(source: AsyncIterable<Buffer>, name: string, greatestSize: number): Promise<TemporaryFile> {
    const fileName = `${prefix}-${closing.length}`;
    const report = (bytes: number) => onBytes(name, bytes);
    const file = await copyToTemporaryFile(temporaryDirectory, fileName, source, greatestSize, report);
    closing.push(() => file.close());
    return file;
  }

  return {
    inputs,
    refused,
    findIn,
    findPath,
    bring,
    close: async () => {
      await Promise.all(closing.map((close) => close()));
    },
  };
}

const ZIP = ["PK\u0003\u0004", "PK\u0005\u0006"];

function isArchive(fd: number): boolean {
  const head = Buffer.alloc(4);
  return readSync(fd, head, 0, head.length, 0) === head.length && ZIP.includes(head.toString("latin1"));
}

function budgetOf(packedSize: number): Budget {
  return { left: packedSize * GREATEST_RATIO + ALWAYS_ALLOWED };
}

function asRefusal(error: unknown): FileRefused {
  if (error instanceof FileRefused) return error;
  // What the operating system says of a path; anything else is a fault of ours.
  if (!(error instanceof Error) || !("code" in error)) throw error;
  const text = error.code === "ENOENT" ? "there is no such file" : error.message;
  return new FileRefused("unreadable", null, `it cannot be read: ${text}`, { cause: error });
}
