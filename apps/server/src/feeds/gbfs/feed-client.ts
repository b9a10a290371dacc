import type { Response } from "undici";
import { readRetryAfter } from "../../http/errors.ts";
import { createOutgoingClient, type OutgoingOptions, shownAddress } from "../outgoing.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./bounded-json.ts";
import { AnswerError } from "./problems.ts";

/** Fetches the documents of one source. */
export interface FeedClient {
  /**
   * Fetches a document, or finds that it has not changed since the response with the validators `held`.
   * @throws Error that describes the failure in a few words, for the report
   */
  get(url: URL, held?: Validators): Promise<FetchedBytes>;
}

/** The headers of a response that make the next request conditional. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** A response's bytes; undefined: nothing has changed since the response with the validators. */
interface FetchedBytes {
  readonly url: URL;
  readonly bytes: Uint8Array | undefined;
  readonly validators: Validators;
}

export interface FetchOptions extends OutgoingOptions {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** Milliseconds for a whole document. Too low: fails slow cities. Too high: one feed delays all others. */
const FETCH_TIMEOUT_MS = 20_000;
/** Maximum redirects. Real feeds have one or two (http to https, a new host). */
const MAX_REDIRECTS = 3;

/** @param location the configured address of gbfs.json */
export function createFeedClient(location: URL, options: FetchOptions = {}): FeedClient {
  const client = createOutgoingClient(location, options);

  async function fetchBytes(from: URL, held: Validators | undefined, signal: AbortSignal): Promise<FetchedBytes> {
    const conditions = {
      ...(held?.etag ? { "if-none-match": held.etag } : {}),
      ...(held?.lastModified ? { "if-modified-since": held.lastModified } : {}),
    };
    const headers = () => ({ accept: "application/json", ...conditions });
    const { maxBytes = MAX_DOCUMENT_BYTES } = options;
    const request = { headers, maxRedirects: MAX_REDIRECTS, maxBytes, signal };
    const { url, response, close } = await client.get(from, request);
    try {
      const { status, ok, headers: received } = response;
      const isConditional = Object.keys(conditions).length > 0;
      if (status === 304 && isConditional && held !== undefined) return { url, bytes: undefined, validators: held };
      const name = shownAddress(url.href);
      if (!ok) throw new AnswerError(`HTTP ${status} from ${name}`, readRetryAfter([...received], undefined));
      const validators = { etag: received.get("etag"), lastModified: received.get("last-modified") };
      return { url, bytes: await readBody(response, maxBytes), validators };
    } finally {
      await close();
    }
  }

  return {
    async get(url, held) {
      const timeout = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
      const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
      try {
        return await fetchBytes(url, held, signal);
      } catch (error) {
        if (timeout.aborted)
          throw new Error(`no whole response in time from ${shownAddress(url.href)}`, { cause: error });
        throw withCauseMessage(error, url);
      }
    },
  };
}

/** Leaving the loop ends the connection, and with it the decompression. */
async function readBody({ body }: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** Replaces the message "fetch failed" by that of its cause. */
function withCauseMessage(error: unknown, url: URL): unknown {
  let reason = error;
  while (reason instanceof TypeError && reason.cause instanceof Error) reason = reason.cause;
  return reason === error || !(reason instanceof Error)
    ? error
    : new Error(`${reason.message.replace(/\.$/, "")} (${shownAddress(url.href)})`, { cause: error });
}
