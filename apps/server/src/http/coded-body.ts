import { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type ReadyBody, readyBody } from "./ready-body.ts";

/** A body that is kept to be sent many times, compressed once for all who ask for that. */
export interface CodedBody extends ReadyBody {
  /** The bytes in a coding, and the coding's name; undefined where it stands as it is. */
  inCoding(accepted: string | undefined): Promise<{ readonly bytes: Buffer; readonly coding: Coding | undefined }>;
}

export type Coding = "br" | "gzip";

/** Bytes from which a body is compressed: below, headers and latency cost more than the bytes saved. */
const WORTH_COMPRESSING = 1024;

const compressors: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: promisify(gzip),
  // 9 of 11: the last tenth less would take ten times as long.
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** Keeps a body in the codings that are named, the best first; each is made when it is first asked for. */
export function codedBody(body: string | Buffer, codings: readonly Coding[]): CodedBody {
  const plain = readyBody(body);
  const made = new Map<Coding, Promise<Buffer>>();
  return {
    ...plain,
    async inCoding(accepted) {
      const coding = codings.find((name) => acceptsCoding(accepted, name));
      if (coding === undefined || plain.bytes.length < WORTH_COMPRESSING) {
        return { bytes: plain.bytes, coding: undefined };
      }
      let compressed = made.get(coding);
      if (compressed === undefined) {
        compressed = compressors[coding](plain.bytes);
        made.set(coding, compressed);
      }
      return { bytes: await compressed, coding };
    },
  };
}

/** Whether a caller takes a coding by name, by its `Accept-Encoding`. */
export function acceptsCoding(accepted: string | undefined, coding: Coding): boolean {
  const pattern = coding === "gzip" ? GZIP : BROTLI;
  return (accepted ?? "")
    .toLowerCase()
    .split(",")
    .some((part) => pattern.test(part));
}

const GZIP = /^\s*(x-)?gzip\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/;
const BROTLI = /^\s*br\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/;

/** Bytes of a body that are handed to a connection at a time, and so wait there for a caller that does not read. */
const PART_BYTES = 64 * 1024;

/**
 * A kept body to send. A large one goes in parts, each when the one before was taken: TLS keeps a copy of whatever it
 * was handed and its caller has not read. Between two parts everybody else has a turn, because a connection often takes
 * megabytes at once, and hundreds of callers may ask at the same time.
 */
export function inParts(bytes: Buffer): Buffer | Readable {
  if (bytes.length <= PART_BYTES) return bytes;
  let sent = 0;
  const next = () => (sent < bytes.length ? bytes.subarray(sent, (sent += PART_BYTES)) : null);
  return new Readable({
    highWaterMark: PART_BYTES,
    read() {
      if (sent === 0) this.push(next());
      else setImmediate(() => this.push(next()));
    },
  });
}
