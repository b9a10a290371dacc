import { fetch, type Response } from "undici";
import type { ConnectOptions } from "../../addresses/connect.ts";
import { readRetryAfter } from "../../http/retry-after.ts";
import { shownAddress } from "../address.ts";
import { openConnection, outgoingDialOptions, type OutgoingWorld } from "../outgoing-connection.ts";
import { type OutgoingRules, outgoingRules } from "../outgoing-rules.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./documents.ts";

/** Until a feed must have come whole. Lower fails slow cities; higher lets one feed delay all others. */
const FETCH_TIMEOUT_MS = 20_000;
/** Real feeds have one or two (http to https, a new host). */
const MAX_REDIRECTS = 3;

/** What a server said last time about the version that it sent, to be asked whether there is a newer one. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** An answer's bytes; undefined when nothing changed since the one that the validators came with. */
interface FetchedBytes {
  readonly url: URL;
  readonly bytes: Uint8Array | undefined;
  readonly validators: Validators;
}

/** Bounds of a fetch, and what stands in for the world in tests. */
export interface FetchOptions extends OutgoingWorld {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Gives the fetch up. */
  readonly signal?: AbortSignal;
}

/** An answer that is no document. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  /** Milliseconds for which the server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryAfterMs: number | null) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Fetches the documents of one source. */
export interface FeedClient {
  /**
   * Gets a document's bytes, or learns that nothing changed since the answer that `held` came with.
   * @throws Error that says what went wrong, in a few words: it goes into the report
   */
  get(url: URL, held?: Validators): Promise<FetchedBytes>;
}

const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/**
 * Fetches what a source lists, from public addresses and from the configured host alone: whoever publishes a feed would
 * otherwise choose what this machine asks of its own network. Each connection is opened to an address that was judged,
 * and carries one request.
 *
 * @param location the configured address of gbfs.json
 */
export function createFeedClient(location: URL, options: FetchOptions = {}): FeedClient {
  const rules = outgoingRules(location);
  const { maxBytes = MAX_DOCUMENT_BYTES } = options;
  const world: World = { rules, dialOptions: outgoingDialOptions(location, rules, options), maxBytes };
  return {
    async get(url, held = NO_VALIDATORS) {
      const timeout = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
      const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
      try {
        return await follow(world, url, { held, signal });
      } catch (error) {
        if (timeout.aborted)
          throw new Error(`no whole answer in time from ${shownAddress(url.href)}`, { cause: error });
        throw explained(error, url);
      }
    },
  };
}

/** What all requests to a source have in common. */
interface World {
  readonly rules: OutgoingRules;
  readonly dialOptions: ConnectOptions;
  readonly maxBytes: number;
}

interface Request {
  readonly held: Validators;
  readonly signal: AbortSignal;
}

async function follow(world: World, url: URL, request: Request): Promise<FetchedBytes> {
  let address = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const refusal = world.rules.refuseUrl(address);
    if (refusal !== undefined) throw new Error(refusal);
    const found = await ask(world, address, request);
    if (!(found instanceof URL)) return found;
    if (address.protocol === "https:" && found.protocol === "http:") {
      throw new Error(`a redirect from https to plain http (${shownAddress(found.href)})`);
    }
    if (!isHttp(found)) throw new Error(`a redirect to ${found.protocol}, which is not http`);
    address = found;
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects from ${shownAddress(url.href)}`);
}

/** Makes one request. @returns what the answer holds, or where it sends us */
async function ask(world: World, url: URL, { held, signal }: Request): Promise<FetchedBytes | URL> {
  const { rules, dialOptions, maxBytes } = world;
  const reached = (address: string | null) => rules.reached(url, address);
  const client = await openConnection(url, dialOptions, { signal, reached });
  const { etag, lastModified } = held;
  const headers = {
    accept: "application/json",
    ...(etag === null ? {} : { "if-none-match": etag }),
    ...(lastModified === null ? {} : { "if-modified-since": lastModified }),
  };
  try {
    const response = await fetch(url, { signal, redirect: "manual", headers, dispatcher: client });
    return await readAnswer(response, url, held, maxBytes);
  } finally {
    await client.destroy();
  }
}

export function isHttp({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

async function readAnswer(
  response: Response,
  url: URL,
  held: Validators,
  maxBytes: number,
): Promise<FetchedBytes | URL> {
  const { status, headers } = response;
  const location = headers.get("location");
  if (status >= 300 && status < 400 && location !== null) {
    if (!URL.canParse(location, url.href)) throw new Error("a redirect to an invalid URL");
    return new URL(location, url);
  }
  const isConditional = held.etag !== null || held.lastModified !== null;
  if (status === 304 && isConditional) return { url, bytes: undefined, validators: held };
  if (!response.ok) {
    throw new AnswerError(`HTTP ${status} from ${shownAddress(url.href)}`, readRetryAfter([...headers], undefined));
  }
  const bytes = await bodyOf(response, maxBytes);
  return { url, bytes, validators: { etag: headers.get("etag"), lastModified: headers.get("last-modified") } };
}

/** Leaving the loop ends the connection, and with it the unpacking. */
async function bodyOf(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  if (body === undefined) return new Uint8Array();
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** fetch says "fetch failed" and keeps the reason behind it. */
function explained(error: unknown, url: URL): unknown {
  let reason = error;
  while (reason instanceof TypeError && reason.cause instanceof Error) reason = reason.cause;
  return reason === error || !(reason instanceof Error)
    ? error
    : new Error(`${reason.message.replace(/\.$/, "")} (${shownAddress(url.href)})`, { cause: error });
}
