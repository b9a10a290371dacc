import { hash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import fastifyCompress from "@fastify/compress";
import type { FastifyInstance, RouteOptions } from "fastify";
import fresh from "fresh";
import { endpointOf, scopeOfRoute } from "./authenticate.ts";

/**
 * The part of a reply that is needed here. Fastify's own type differs between its versions, and ts-rest hands over the
 * older.
 */
interface HeaderEditor {
  getHeader(name: string): unknown;
  header(name: string, value: string): unknown;
}

/** Adds to the headers of its request that a response depends on. */
export function vary(reply: HeaderEditor, ...names: readonly string[]): void {
  const said = reply.getHeader("vary");
  if (said === undefined) {
    reply.header("vary", names.join(", "));
    return;
  }
  const before = typeof said === "string" ? said.split(", ") : [];
  // In lower case, as @fastify/compress looks for them: it would add a second one.
  reply.header("vary", [...before, ...names.filter((name) => !before.includes(name))].join(", "));
}

/** A body that is kept to be sent many times: its bytes and their tag, made once. */
export interface ReadyBody {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Makes a body ready. */
export function readyBody(body: string | Buffer): ReadyBody {
  const bytes = Buffer.isBuffer(body) ? body : toBytes(body);
  return { bytes, etag: etagOf(bytes) };
}

/**
 * The part of a reply that is needed here. Fastify's own type differs between its versions, and ts-rest hands over the
 * older.
 */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

/** Sets the headers of a response with a ready body; returns the body to send. */
export function useReadyBody<Body>(reply: HeaderWriter, { bytes, etag }: ReadyBody): Body {
  reply.header("etag", etag);
  reply.header("content-type", "application/json");
  // Bytes are sent as they are; the tests hold them against the contract's schema.
  return bytes as unknown as Body;
}

/** A body that is kept to be sent many times, compressed once for all who ask for that. */
export interface CodedBody extends ReadyBody {
  /** Returns the bytes in an accepted coding, and the coding's name; undefined for the plain bytes. */
  inCoding(accepted: string | undefined): Promise<{ readonly bytes: Buffer; readonly coding: Coding | undefined }>;
}

export type Coding = "br" | "gzip";

/** Smallest body that is compressed: below, headers and latency cost more than the bytes saved. */
const MIN_COMPRESSED_BYTES = 1024;

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

/** Tells whether a caller takes a coding by name, by its `Accept-Encoding`. */
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

/**
 * Adds an `ETag` to every successful read of data, and answers 304 when the caller already has it. The tag is weak, since
 * it is the same for the plain and the compressed bytes.
 */
export function answerConditionally(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const isBody = typeof payload === "string" || Buffer.isBuffer(payload);
    // A condition on anything but a read was to be judged before the work was done (RFC 9110, 13.1.2): too late here.
    const isRead = request.method === "GET" || request.method === "HEAD";
    const { scope } = endpointOf(request);
    // The dashboard stores nothing in the browser's cache; its pages revalidate with the tag of the data that they show.
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
    // Keys differ in the data that they may read: no shared cache may store the answer, and a private one revalidates it.
    if (!isConsole) reply.header("cache-control", "private, no-cache");
    vary(reply, isConsole ? "cookie" : "authorization", "accept-encoding");
    const known = request.headers["if-none-match"];
    // Nothing else of the request: a cache that asks again (`Cache-Control: no-cache`) may well hear that nothing changed.
    if (known !== undefined && (known === etag || fresh({ "if-none-match": known }, { etag }))) {
      reply.code(304);
      reply.removeHeader("content-type");
      // Fastify takes the body away from a HEAD itself, and fails where there is none.
      done(null, request.method === "HEAD" ? bytes : null);
      return;
    }
    done(null, bytes);
  });
}

/** Returns a weak tag of a body. */
function etagOf(body: Buffer): string {
  return `W/"${hash("sha1", body, "base64url")}"`;
}

/** A buffer for encoding texts whose length in bytes is unknown: counting it first takes six times as long. */
const scratch = Buffer.allocUnsafeSlow(512 * 1024);
/** The most bytes of UTF-8 for one of JavaScript's characters. */
const MAX_CHARACTER_BYTES = 3;

/** Returns a text's bytes, in a fraction of the time of `Buffer.from`. */
function toBytes(text: string): Buffer {
  if (text.length * MAX_CHARACTER_BYTES > scratch.length) return Buffer.from(text);
  const length = scratch.write(text);
  const bytes = Buffer.allocUnsafeSlow(length);
  scratch.copy(bytes, 0, 0, length);
  return bytes;
}

/** Media types apart from JSON: the dashboard's files and streams of events, and what agencies read. */
const NOT_JSON = /^(text\/(csv|event-stream|vnd\.mds\+csv)|application\/(octet-stream|vnd\.mds\+json))\b/;

/**
 * Sets `application/json` without a charset, since JSON is always UTF-8 and the API documents exactly this type. Every
 * response of a contract's endpoint is JSON, including those that a handler passes as text.
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
 * Compresses responses for callers that accept it and have a key, and so a rate limit. Public responses are compressed once
 * or not at all: compressing them for each request would cost us more than it costs the caller to ask.
 */
export async function compressAnswers(app: FastifyInstance): Promise<void> {
  app.addHook("onRoute", (route: RouteOptions) => {
    const tsRestRoute = route.config?.tsRestRoute;
    if (tsRestRoute === undefined || scopeOfRoute(tsRestRoute) === "none") route.compress = false;
  });
  await app.register(fastifyCompress, {
    // Compressed bodies are refused: unpacking goes on after the limit of a body's size is reached.
    globalDecompression: false,
    encodings: ["zstd", "br", "gzip"],
    // Below this, headers and latency cost more than the bytes saved.
    threshold: 1024,
    // Node's default of 11 takes 50 times as long for a tenth less: made for files that are compressed once.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
    zlibOptions: { level: 6 },
  });
}
