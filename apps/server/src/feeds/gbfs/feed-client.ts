import type { Response } from "undici";
import { readRetryAfter } from "../../http/retry-after.ts";
import { shownAddress } from "../address.ts";
import { createOutgoingClient, type OutgoingOptions } from "../outgoing.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./documents.ts";

/** Fetches the documents of one source. */
export interface FeedClient {
  /**
   * Gets a document's bytes, or learns that nothing changed since the response that `held` came with.
   * @throws Error that says in a few words what went wrong, for the report
   */
  get(url: URL, held?: Validators): Promise<FetchedBytes>;
}

/** What a response said about its version, for the next conditional request. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** A response's bytes; undefined when nothing changed since the one that the validators came with. */
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

/** A response that is not a document. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  /** Milliseconds for which the server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** For a whole document. Lower fails slow cities; higher lets one feed delay all others. */
const FETCH_TIMEOUT_MS = 20_000;
/** Real feeds have one or two (http to https, a new host). */
const MAX_REDIRECTS = 3;
const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/** @param location the configured address of gbfs.json */
export function createFeedClient(location: URL, options: FetchOptions = {}): FeedClient {
  const client = createOutgoingClient(location, options);
  const { maxBytes = MAX_DOCUMENT_BYTES } = options;

  async function fetchBytes(from: URL, held: Validators, signal: AbortSignal): Promise<FetchedBytes> {
    const headers = {
      accept: "application/json",
      ...(held.etag === null ? {} : { "if-none-match": held.etag }),
      ...(held.lastModified === null ? {} : { "if-modified-since": held.lastModified }),
    };
    const { url, response, close } = await client.get(from, {
      headers: () => headers,
      maxRedirects: MAX_REDIRECTS,
      signal,
    });
    try {
      return { url, ...(await readResponse(response, url, held, maxBytes)) };
    } finally {
      await close();
    }
  }

  return {
    async get(url, held = NO_VALIDATORS) {
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

async function readResponse(response: Response, url: URL, held: Validators, maxBytes: number) {
  const { status, headers } = response;
  const isConditional = held.etag !== null || held.lastModified !== null;
  if (status === 304 && isConditional) return { bytes: undefined, validators: held };
  if (!response.ok) {
    throw new AnswerError(`HTTP ${status} from ${shownAddress(url.href)}`, readRetryAfter([...headers], undefined));
  }
  const bytes = await readBody(response, maxBytes);
  return { bytes, validators: { etag: headers.get("etag"), lastModified: headers.get("last-modified") } };
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

/** `fetch` says "fetch failed" and keeps the reason as the cause. */
function withCauseMessage(error: unknown, url: URL): unknown {
  let reason = error;
  while (reason instanceof TypeError && reason.cause instanceof Error) reason = reason.cause;
  return reason === error || !(reason instanceof Error)
    ? error
    : new Error(`${reason.message.replace(/\.$/, "")} (${shownAddress(url.href)})`, { cause: error });
}
