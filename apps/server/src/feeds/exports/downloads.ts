import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { DOWNLOAD_LINK_MINUTES } from "@bikeshare/contract";
import { serviceError } from "@bikeshare/rules";
import fresh from "fresh";
import { createPlaces } from "../../http/places.ts";
import type { TokenCipher } from "../../storage/secrets/encryption.ts";
import { type FinishedExport, storedPathOf } from "./service.ts";

/* Download links for exported files, and the sender that answers requests for the files. */

/** The export that a download link leads to, and the partner for whom the link was made. */
interface LinkedFile {
  readonly systemId: string;
  readonly partnerId: string;
  readonly id: string;
}

/** Makes and reads download links for exported files. A link contains an encrypted token, and expires. */
export interface DownloadLinks {
  make(file: LinkedFile, fileName: string): { readonly url: string; readonly expiresAt: Date };
  /** @throws ServiceError `download_link_ended` when the token has expired or was not made by this service */
  read(token: string): LinkedFile;
}

const MINUTE_MS = 60_000;
/** Expiry times are multiples of this, so that responses with links, and their ETags, stay the same for some minutes. */
const STEP_MS = 5 * MINUTE_MS;
/** Names the tokens for the cipher, which rejects tokens of other contexts. */
const CONTEXT = "download";

/** The purpose of the cipher's keys. It tells download links from other tokens that the same keys encrypt. */
export const DOWNLOAD_PURPOSE = "export download link";

/** Creates the maker and reader of download links. @param cipher encrypts tokens, with keys for `DOWNLOAD_PURPOSE` */
export function createDownloadLinks(
  cipher: TokenCipher,
  { clock, baseUrl }: { readonly clock: () => number; readonly baseUrl: () => string },
): DownloadLinks {
  return {
    make({ systemId, partnerId, id }, fileName) {
      const expiresAt = Math.ceil((clock() + DOWNLOAD_LINK_MINUTES * MINUTE_MS) / STEP_MS) * STEP_MS;
      const token = cipher.encrypt(CONTEXT, JSON.stringify([systemId, partnerId, id, expiresAt]));
      return {
        url: `${baseUrl()}/downloads/${token}/${encodeURIComponent(fileName)}`,
        expiresAt: new Date(expiresAt),
      };
    },
    read(token) {
      const text = cipher.decrypt(CONTEXT, token);
      if (text === undefined) throw serviceError("download_link_ended");
      const [systemId, partnerId, id, expiresAt] = JSON.parse(text) as [string, string, string, number];
      if (expiresAt <= clock()) throw serviceError("download_link_ended");
      return { systemId, partnerId, id };
    },
  };
}

/** Most simultaneous downloads of one partner. Too high: one partner leaves no downloads for the others. */
const MAX_OF_READER = 2;
/** Most simultaneous downloads from this process. Each takes 128 kB of memory, and a share of the network's bandwidth. */
const MAX_DOWNLOADS = 16;
/** The `Retry-After` of a refused download. */
const RETRY_SECONDS = 30;
/** Bytes that are read at a time. */
const PART_BYTES = 64 * 1024;

/** The parts of a request that a download needs. */
interface FileRequest {
  readonly method: string;
  readonly headers: {
    readonly range?: string | undefined;
    readonly "if-range"?: string | undefined;
    readonly "if-none-match"?: string | undefined;
  };
}

/** The part of Fastify's reply that a download needs. */
interface FileReply {
  header(name: string, value: string | number): unknown;
}

/** Sends exported files to partners, a few at the same time. */
export interface FileSender {
  /**
   * Answers a request for a file: sets the reply's headers, and returns the status and the body to send.
   * @param reader identifies the partner or the operator's person, whose simultaneous downloads are limited
   * @throws ServiceError
   */
  send(
    file: FinishedExport,
    reader: string,
    request: FileRequest,
    reply: FileReply,
  ): Promise<{ readonly status: 200 | 206 | 304; readonly body: Readable | null }>;
  /** Whether this process has the file. */
  has(file: FinishedExport): Promise<boolean>;
}

/** Creates the sender of files. @param directory the directory of finished files */
export function createFileSender(directory: string): FileSender {
  // Each download takes a place, and gives it back at its end.
  const places = createPlaces({
    ofReader: MAX_OF_READER,
    inAll: MAX_DOWNLOADS,
    refuse: (limit) => serviceError("rate_limited", "downloads", { limit, retryAfterSeconds: RETRY_SECONDS }),
  });
  const has = async (file: FinishedExport) => {
    const found = await stat(storedPathOf(directory, file)).catch(() => undefined);
    return found?.size === file.facts.bytes;
  };
  return {
    has,
    async send(file, reader, request, reply) {
      const { sha256, bytes, file_name: name } = file.facts;
      if (!(await has(file))) throw serviceError("unavailable", "exportFile", { retryAfterSeconds: RETRY_SECONDS });
      const etag = `"${sha256}"`;
      const clientEtags = request.headers["if-none-match"];
      const isUnchanged = clientEtags !== undefined && fresh({ "if-none-match": clientEtags }, { etag });
      const range = isUnchanged ? undefined : rangeOf(request, etag, bytes);
      // Takes the place before it sets headers: the response that refuses a download must not have those of the file.
      const giveBack = isUnchanged || request.method === "HEAD" ? undefined : places.take(reader);
      reply.header("etag", etag);
      reply.header("cache-control", "private, no-cache");
      if (isUnchanged) return { status: 304, body: null };
      reply.header("accept-ranges", "bytes");
      const { from, to } = range ?? { from: 0, to: bytes - 1 };
      reply.header("content-type", "application/octet-stream");
      reply.header("content-disposition", `attachment; filename="${name}"`);
      // RFC 9530: the digest of the whole file, even if only a part of it is sent.
      reply.header("repr-digest", `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`);
      reply.header("content-length", to - from + 1);
      if (range !== undefined) reply.header("content-range", `bytes ${from}-${to}/${bytes}`);
      const status = range === undefined ? 200 : 206;
      // Sends no body for HEAD: with a stream of the file, Fastify would read the file to its end.
      if (giveBack === undefined) return { status, body: Readable.from([]) };
      const path = storedPathOf(directory, file);
      const body = createReadStream(path, { start: from, end: to, highWaterMark: PART_BYTES });
      return { status, body: body.once("close", giveBack) };
    },
  };
}

/**
 * Reads the requested range of bytes. Returns undefined, which means the whole file, without a range, for several ranges,
 * for other units than bytes, for a range that ends before it starts, and for an outdated `If-Range`.
 * @throws ServiceError `range_not_satisfiable` when the file has no byte in the range
 */
function rangeOf(
  { headers }: FileRequest,
  etag: string,
  bytes: number,
): { readonly from: number; readonly to: number } | undefined {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  if (headers["if-range"] !== undefined && headers["if-range"] !== etag) return undefined;
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  // Without a first byte, such as `bytes=-500`, the range is the last bytes of the file, as many as the number says.
  const isOfLastBytes = first === "";
  const from = isOfLastBytes ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = isOfLastBytes || last === "" ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (from >= bytes || to < from) {
    const size = { headers: { "content-range": `bytes */${bytes}` } };
    throw serviceError("range_not_satisfiable", "default", {}, size);
  }
  return { from, to };
}
