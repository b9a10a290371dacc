import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ReadyBody, readyBody } from "../../http/ready-body.ts";
import type { GbfsDocument } from "./service.ts";

/** A document as it is kept: ready to be sent, with the headers that tell how long it holds. */
export interface GbfsPage extends ReadyBody {
  /** As `Last-Modified` writes it. */
  readonly lastModified: string;
  /** Whether `If-Modified-Since` says which document the caller has. */
  readonly datedExactly: boolean;
  readonly cacheControl: string;
  /** The bytes, compressed once for all who ask; undefined for a page too small to be worth it. */
  readonly gzipped: (() => Promise<Buffer>) | undefined;
}

/**
 * Bytes from which a page is kept compressed too. 26,000 bikes are 4.5 MB: to compress them for each of anybody's
 * requests holds up all others for 30 to 90 ms. Small pages are left to the hook that compresses every answer.
 */
const WORTH_KEEPING = 64 * 1024;

const compress = promisify(gzip);

/** Makes a document ready. */
export function gbfsPage({ json, lastUpdated, sharesSecond, ttl }: GbfsDocument): GbfsPage {
  const body = readyBody(json);
  let compressed: Promise<Buffer> | undefined;
  return {
    ...body,
    lastModified: lastUpdated.toUTCString(),
    datedExactly: !sharesSecond,
    cacheControl: `public, max-age=${ttl}`,
    gzipped: body.bytes.length < WORTH_KEEPING ? undefined : () => (compressed ??= compress(body.bytes)),
  };
}

/** Whether a caller takes gzip, by its `Accept-Encoding`. */
export function takesGzip(accepted: string | undefined): boolean {
  const codings = (accepted ?? "").toLowerCase().split(",");
  return codings.some((coding) => /^\s*(x-)?gzip\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/.test(coding));
}
