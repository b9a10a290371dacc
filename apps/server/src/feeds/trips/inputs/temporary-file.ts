import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { makeDirectory } from "@bikeshare/embedded-postgres";
import { ImportFileError } from "../problems.ts";
import { readRange } from "../spool.ts";
import { inBinaryUnits } from "./input.ts";

/** A file of ours without a name: a crash leaves nothing. */
export interface TemporaryFile {
  readonly fd: number;
  readonly size: number;
  /** Its bytes; may be called several times. */
  read(): Readable;
  close(): Promise<void>;
}

/**
 * Copies bytes into a temporary file.
 * @param greatestSize bytes at most
 * @param onBytes told how many bytes have come so far
 * @throws ImportFileError when there are more bytes, or `source` fails
 */
export async function copyToTemporaryFile(
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
