import type { Readable } from "node:stream";

/** Bytes read at a time. Smaller costs a round of promises more often; larger only takes memory. */
export const CHUNK_BYTES = 256 * 1024;

/** One trip file, wherever it lies: in a folder, in an archive, or brought here from elsewhere. */
export interface TripInput {
  /** The input's name in messages and reports. */
  readonly name: string;
  /** Bytes that `open` gives. */
  readonly size: number;
  /** The file is a text among others, so that it may be no trip file at all. */
  readonly mayBeOther?: boolean;
  /** Opens its bytes from the beginning. They may be compressed with gzip. */
  open(): Promise<Readable>;
}

/** Bytes as an operator reads them: 64 MiB. */
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
