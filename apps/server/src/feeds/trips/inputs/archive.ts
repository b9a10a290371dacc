import { basename } from "node:path";
import type { Readable } from "node:stream";
import { Transform } from "node:stream";
import { crc32 } from "node:zlib";
import yauzl from "yauzl";
import { ImportFileError } from "../problems.ts";
import { inBinaryUnits } from "./input.ts";

/** A file in a zip archive. */
export interface ArchiveEntry {
  readonly path: string;
  /** Bytes, unpacked. */
  readonly size: number;
  open(): Promise<Readable>;
}

/** The limits on the content of an archive. */
export interface ArchiveBounds {
  /** Bytes of all its files, unpacked. */
  readonly bytes: number;
  readonly files: number;
}

/**
 * Lists the files of a zip archive in the order of their paths, without leftovers of the Finder and other programs. The
 * caller closes the file after the last entry is read.
 * @throws ImportFileError when it is broken, encrypted, packed with an unknown method, or too large
 */
export async function readArchive(fd: number, most: ArchiveBounds): Promise<readonly ArchiveEntry[]> {
  const zip = await rejecting(() => yauzl.fromFdPromise(fd, { lazyEntries: true, autoClose: false }));
  const found: yauzl.Entry[] = [];
  let size = 0;
  await rejecting(async () => {
    for await (const entry of zip.eachEntry()) {
      if (isFolder(entry) || isLeftover(entry.fileName)) continue;
      found.push(entry);
      size += entry.uncompressedSize;
      if (found.length > most.files) {
        throw new ImportFileError("too_large", null, "the zip archive, with those in it, has more files than are read");
      }
      if (size > most.bytes) {
        throw new ImportFileError(
          "too_large",
          null,
          `the zip archive unpacks to more than ${inBinaryUnits(most.bytes)}, far more than trips of its size do`,
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
  const packed = await rejecting(() => zip.openReadStreamPromise(entry));
  const checked = verifyChecksum(entry.crc32);
  // The reader reports the failure; the packed stream has no other listener.
  packed.on("error", (error) => checked.destroy(asImportFileError(error)));
  checked.on("close", () => packed.destroy());
  return packed.pipe(checked);
}

/** Passes bytes on; fails at their end when they are not those that were packed. */
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

/** Tells whether a file is a leftover of a program: a resource fork of the Finder, or a hidden file. */
function isLeftover(path: string): boolean {
  return path.split("/").includes("__MACOSX") || basename(path).startsWith(".");
}

async function rejecting<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asImportFileError(error);
  }
}

function asImportFileError(error: unknown): ImportFileError {
  if (error instanceof ImportFileError) return error;
  return broken(error instanceof Error ? error.message : String(error), { cause: error });
}

function broken(why: string, options?: ErrorOptions): ImportFileError {
  return new ImportFileError("broken_zip", null, `the zip archive cannot be read: ${why}`, options);
}
