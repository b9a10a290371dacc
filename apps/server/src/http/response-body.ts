import { hash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import fastifyCompress from "@fastify/compress";
import type { FastifyInstance, RouteOptions } from "fastify";
import fresh from "fresh";
import { endpointOf, scopeOfRoute } from "./authenticate.ts";

/* How response bodies are sent: their ETags, media types and compression, and bodies that are kept in memory. */

/**
 * The part of a reply that is needed here. Used instead of Fastify's own type, because ts-rest's handlers get the type of
 * an older Fastify version.
 */
interface HeaderEditor {
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
}

/** Adds names to a response's `Vary` header: the request headers that the response depends on. */
export function vary(reply: HeaderEditor, ...names: readonly string[]): void {
  const current = reply.getHeader("vary");
  if (current === undefined) {
    reply.header("vary", names.join(", "));
    return;
  }
  const before = typeof current === "string" ? current.split(", ") : [];
  // The names are in lower case, because @fastify/compress searches for that form and would add a name a second time.
  reply.header("vary", [...before, ...names.filter((name) => !before.includes(name))].join(", "));
}

/**
 * A body that is kept and sent many times: its bytes and their ETag, computed once. For answers that need a key or a session
 * (`useReadyBody`); `compressAnswers` compresses them at each request.
 */
export interface ReadyBody {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Computes the bytes and the ETag of a body. */
export function readyBody(body: string | Buffer): ReadyBody {
  const bytes = Buffer.isBuffer(body) ? body : toBytes(body);
  return { bytes, etag: etagOf(bytes) };
}

/** Like `HeaderEditor`, without reading headers. */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Sets the headers of a response with a ready body; returns the body to send. */
export function useReadyBody<Body>(reply: HeaderWriter, { bytes, etag }: ReadyBody): Body {
  reply.header("etag", etag);
  reply.header("content-type", "application/json");
  // Bytes are sent unchanged. Tests check them against the contract's schema.
  return bytes as unknown as Body;
}

/** Like `ReadyBody`, for public documents and feeds: it is also compressed only once in each coding. */
export interface CodedBody extends ReadyBody {
  /** Returns the bytes in an accepted coding, and the coding's name; undefined for the plain bytes. */
  inCoding(accepted: string | undefined): Promise<{ readonly bytes: Buffer; readonly coding: Coding | undefined }>;
}

export type Coding = "br" | "gzip";

/** Smallest body that is compressed: below, headers and latency cost more than the bytes saved. */
const MIN_COMPRESSED_BYTES = 1024;

const compressors: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: promisify(gzip),
  // Quality 9 of 11: 11 would save a tenth more and take ten times as long.
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
};

/** Keeps a body in some codings, the best first. Compresses it when a coding is first requested. */
export function codedBody(body: string | Buffer, codings: readonly Coding[]): CodedBody {
  const plain = readyBody(body);
  const made = new Map<Coding, Promise<Buffer>>();
  return {
    ...plain,
    async inCoding(accepted) {
      const coding = codings.find((name) => acceptsCoding(accepted, name));
      if (coding === undefined || plain.bytes.length < MIN_COMPRESSED_BYTES) {
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

/** Tells whether a caller's `Accept-Encoding` names a coding. */
export function acceptsCoding(accepted: string | undefined, coding: Coding): boolean {
  const pattern = coding === "gzip" ? GZIP : BROTLI;
  return (accepted ?? "")
    .toLowerCase()
    .split(",")
    .some((part) => pattern.test(part));
}

/** Match one part of `Accept-Encoding` that names the coding, unless its weight `q` is 0, which forbids the coding. */
const GZIP = /^\s*(x-)?gzip\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/;
const BROTLI = /^\s*br\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/;

/** Bytes of a body that are passed to a connection at a time. So many wait in memory for a caller that does not read. */
const PART_BYTES = 64 * 1024;

/**
 * Returns a kept body to send. A large body is sent in parts, each when the connection has taken the previous part, because
 * TLS keeps a copy of everything that was passed to it and that the caller has not read. Other requests are served between
 * two parts: a connection often takes megabytes at once, and hundreds of callers may ask at the same time.
 */
export function inParts(bytes: Buffer): Buffer | Readable {
  if (bytes.length <= PART_BYTES) return bytes;
  let sent = 0;
  /** Returns the next part; null: all parts have been sent. */
  const next = () => {
    if (sent >= bytes.length) return null;
    const part = bytes.subarray(sent, sent + PART_BYTES);
    sent += PART_BYTES;
    return part;
  };
  return new Readable({
    highWaterMark: PART_BYTES,
    read() {
      if (sent === 0) this.push(next());
      else setImmediate(() => this.push(next()));
    },
  });
}

/**
 * Adds an `ETag` to every successful read of data that needs a key, and answers 304 when the caller already has these data.
 * In the dashboard's interface, does so only where the handler has set the tag. The tag is weak, because it is the same for
 * the plain and the compressed bytes.
 */
export function answerConditionally(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const isBody = typeof payload === "string" || Buffer.isBuffer(payload);
    // Only reads: for other methods a condition must be checked before the work is done (RFC 9110, 13.1.2).
    const isRead = request.method === "GET" || request.method === "HEAD";
    const { scope } = endpointOf(request);
    // The dashboard's data are not stored in the browser's cache. Its pages send the tag of the data that they show.
    const isConsole = scope === "console";
    const isTagged = isConsole ? reply.hasHeader("etag") : scope !== "none";
    if (!isRead || reply.statusCode !== 200 || !isBody || !isTagged) {
      done(null, payload);
      return;
    }
    // Converted to bytes once, for the hash and for sending: Node would convert a text twice.
    const bytes = typeof payload === "string" ? toBytes(payload) : payload;
    const etag = String(reply.getHeader("etag") ?? etagOf(bytes));
    reply.header("etag", etag);
    // Keys may read different data, so no shared cache may store the answer, and a private cache must revalidate it.
    if (!isConsole) reply.header("cache-control", "private, no-cache");
    vary(reply, isConsole ? "cookie" : "authorization", "accept-encoding");
    const known = request.headers["if-none-match"];
    // Passes only this header to `fresh`. With the header `Cache-Control: no-cache`, `fresh` would never allow a 304,
    // although the tag proves that nothing has changed.
    if (known !== undefined && (known === etag || fresh({ "if-none-match": known }, { etag }))) {
      reply.code(304);
      reply.removeHeader("content-type");
      // For a HEAD request Fastify removes the body itself, and fails if there is none.
      done(null, request.method === "HEAD" ? bytes : null);
      return;
    }
    done(null, bytes);
  });
}

/** Returns a weak ETag of a body. */
function etagOf(body: Buffer): string {
  return `W/"${hash("sha1", body, "base64url")}"`;
}

/** A buffer for encoding texts whose length in bytes is unknown. Counting the bytes first would take six times as long. */
const scratch = Buffer.allocUnsafeSlow(512 * 1024);
/** The most bytes of UTF-8 for one character (UTF-16 unit) of a JavaScript string. */
const MAX_CHARACTER_BYTES = 3;

/** Returns a text's bytes, in a fraction of the time of `Buffer.from`. */
function toBytes(text: string): Buffer {
  if (text.length * MAX_CHARACTER_BYTES > scratch.length) return Buffer.from(text);
  const length = scratch.write(text);
  const bytes = Buffer.allocUnsafeSlow(length);
  scratch.copy(bytes, 0, 0, length);
  return bytes;
}

/** Media types other than JSON: the dashboard's files and event streams, and the responses for agencies (MDS). */
const NOT_JSON = /^(text\/(csv|event-stream|vnd\.mds\+csv)|application\/(octet-stream|vnd\.mds\+json))\b/;

/**
 * Sets `application/json` without a charset, because JSON is always UTF-8 and the API documents exactly this type. Every
 * response of a contract's endpoint is JSON, except for the types in `NOT_JSON`, even if a handler returns it as text.
 */
export function sendExactJsonType(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const type = reply.getHeader("content-type");
    const isJson = typeof type === "string" && type.startsWith("application/json");
    const isContract = request.routeOptions.config.tsRestRoute !== undefined && type !== undefined;
    if (isJson || (isContract && !NOT_JSON.test(String(type)))) reply.header("content-type", "application/json");
    done(null, payload);
  });
}

/**
 * Compresses responses of endpoints that need a key or a session, if the caller accepts it. Public responses are compressed
 * once or not at all, because compressing them for each request would cost this service more than a request costs its
 * caller.
 */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  app.addHook("onRoute", (route: RouteOptions) => {
    const tsRestRoute = route.config?.tsRestRoute;
    if (tsRestRoute === undefined || scopeOfRoute(tsRestRoute) === "none") route.compress = false;
  });
  await app.register(fastifyCompress, {
    // Compressed requests are refused, because the plugin would go on unpacking beyond the maximum size of a body.
    globalDecompression: false,
    encodings: ["zstd", "br", "gzip"],
    threshold: MIN_COMPRESSED_BYTES,
    // Node's default of 11 saves a tenth more and takes 50 times as long: it suits files that are compressed once.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
    zlibOptions: { level: 6 },
  });
}
