import { createHash } from "node:crypto";
import type { Response } from "undici";
import { readRetryAfter } from "../../http/errors.ts";
import { createOutgoingClient, isHttp, type OutgoingOptions, shownAddress } from "../outgoing.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./bounded-json.ts";
import { type Description, readDescription } from "./descriptions.ts";
import { createDocumentReader } from "./document-reader.ts";
import {
  type DiscoveredFeeds,
  type DocumentName,
  type Documents,
  hasTranslations,
  type Translation,
} from "./documents.ts";
import {
  afterFailure,
  afterSuccess,
  type DocumentAge,
  type FeedHealth,
  isFailing,
  UNKNOWN_HEALTH,
} from "./feed-health.rules.ts";
import { AnswerError, FeedFailure } from "./problems.ts";
import type { GbfsSource } from "./snapshot.ts";

/*
 * Reads a GBFS source from its address: fetches the `gbfs.json` and the feeds that it lists, with their translations. Skips
 * feeds that have not changed, whose `ttl` has not passed, or that failed and wait for their next try.
 */

/** Fetches the documents of one source. */
interface FeedClient {
  /**
   * Fetches a document, or learns from the server that it has not changed since the response with the validators `held`.
   * @throws Error that describes the failure in a few words, for the report
   */
  get(url: URL, held?: Validators): Promise<FetchedBytes>;
}

/** The headers of a response that are sent back to make the next request conditional. */
interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The response to one request for a document. */
interface FetchedBytes {
  readonly url: URL;
  /** Undefined: the document has not changed since the response whose validators were sent. */
  readonly bytes: Uint8Array | undefined;
  readonly validators: Validators;
}

/** Options of the requests for documents. */
export interface FetchOptions extends OutgoingOptions {
  /** Default: `FETCH_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
  /** Most bytes of an unpacked document. Default: `MAX_DOCUMENT_BYTES`. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/** Time limit for fetching one document. Too low: slow servers fail. Too high: one feed delays all others. */
const FETCH_TIMEOUT_MS = 20_000;
/** Maximum redirects. Real feeds have one or two (http to https, a new host). */
const MAX_REDIRECTS = 3;

/** Creates a client for a source. @param location the configured address of gbfs.json */
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

/** Reads a body. An error inside the loop destroys the body's stream, and so ends the connection and the decompression. */
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

/** Replaces an error with the message "fetch failed" by an error with the message of its cause. */
function withCauseMessage(error: unknown, url: URL): unknown {
  let reason = error;
  while (reason instanceof TypeError && reason.cause instanceof Error) reason = reason.cause;
  return reason === error || !(reason instanceof Error)
    ? error
    : new Error(`${reason.message.replace(/\.$/, "")} (${shownAddress(url.href)})`, { cause: error });
}

export interface AddressSourceOptions extends FetchOptions {
  /** Milliseconds between two polls; undefined: the source is read once. */
  readonly intervalMs?: number;
}

/** What is kept of the last response of one address. */
interface AddressResponse {
  readonly address: string;
  readonly validators: Validators;
  /** A hash of the bytes. Servers without validators send the same bytes again. */
  readonly hash: string;
}

/** What is kept of the last response of one feed, with its translations. */
interface LastResponse extends AddressResponse {
  readonly translations: ReadonlyMap<string, AddressResponse>;
  /** The instant before which the feed does not change, by its `ttl`; milliseconds since 1970. */
  readonly changesAt: number;
  readonly age: DocumentAge | null;
}

/**
 * Milliseconds for which a translation is not fetched after a failure: the document that the server did not send, or all of
 * the language if the server did not answer. Too low: each poll waits for the failing language again. Too high: its texts
 * come back late.
 */
const TRANSLATION_RETRY_MS = 10 * 60_000;

/** The feeds that the `gbfs.json` at an address lists. Each poll returns only the feeds that changed since the last poll. */
export class AddressSource implements GbfsSource {
  readonly #location: URL;
  readonly #options: AddressSourceOptions;
  readonly #client: FeedClient;
  readonly #reader = createDocumentReader();
  readonly #responses = new Map<DocumentName, LastResponse>();
  readonly #health = new Map<DocumentName, FeedHealth>();
  /** The new responses of the current poll. */
  readonly #newResponses = new Map<DocumentName, LastResponse>();
  /** The feeds that responded in the current poll, whether they have changed or not. */
  readonly #responded = new Set<DocumentName>();
  /** The age of the data of each feed that responded in the latest poll. */
  readonly #ages = new Map<DocumentName, DocumentAge>();
  /** The latest list of feeds, and the address from which it came. */
  #list: (DiscoveredFeeds & { readonly base: URL }) | undefined;
  /** The earliest time of the next try, by language, or by the address of one document. */
  readonly #translationRetryAt = new Map<string, number>();
  /** True from the fetch of a list until `commit`: what follows from the list is not stored yet. */
  #isListNew = false;
  /** The language that `system_information` gave last, for texts that do not name theirs. */
  #language: string | undefined;
  /** When the current poll began, milliseconds since 1970. */
  #now = 0;

  constructor(location: URL, options: AddressSourceOptions = {}) {
    this.#location = location;
    this.#options = options;
    this.#client = createFeedClient(location, options);
  }

  /**
   * Begins a poll. Fetches the list of feeds if it may have changed.
   * @param now milliseconds since 1970
   * @returns the failure if the list could not be fetched; undefined also when a failed list waits for its next try. An
   *   earlier list then remains in use.
   */
  async begin(now: number): Promise<FeedFailure | undefined> {
    this.#now = now;
    this.#newResponses.clear();
    this.#responded.clear();
    this.#ages.clear();
    // Fetches the list also when it is fresh but a failed feed is due, because that feed may have moved.
    const hasRetries = [...this.#health].some(([feed, each]) => isFailing(each) && !this.#isWaiting(feed));
    const isUpToDate = this.#list !== undefined && !hasRetries && this.#isFresh("gbfs");
    if (isUpToDate || this.#isWaiting("gbfs")) return undefined;
    try {
      const response = await this.#ask("gbfs", [this.#location]);
      if (response !== undefined) this.#takeList(response.content, response.url);
      return undefined;
    } catch (error) {
      if (error instanceof FeedFailure) return error;
      throw error;
    }
  }

  /**
   * Reads a feed.
   * @returns undefined when there is no such feed, it has not changed, or it is not due: its `ttl` has not passed, or it
   *   failed and waits for its next try
   * @throws FeedFailure
   */
  async read<Name extends DocumentName>(feed: Name): Promise<Documents[Name] | undefined> {
    if (this.#list === undefined) return undefined;
    const { feeds, base } = this.#list;
    const listed = feeds.get(feed);
    // `absentFeed` says what a missing feed means, once for each list that was fetched.
    if (listed === undefined)
      return this.#isListNew ? (absentFeed(feed, feeds, this.#now) as Documents[Name]) : undefined;
    // The caller reads `vehicle_status` first. Once that has responded, the older `free_bike_status` adds nothing.
    const isReplaced = feed === "free_bike_status" && feeds.has("vehicle_status");
    if (isReplaced && (this.#responses.has("vehicle_status") || this.#newResponses.has("vehicle_status")))
      return undefined;
    if (this.#isWaiting(feed) || this.#isFresh(feed)) return undefined;
    return (await this.#ask(feed, feedAddresses(listed, feed, base)))?.content;
  }

  /**
   * Marks the poll's responses as stored, and the feeds that responded as healthy. Without this call, the next poll fetches
   * them again.
   */
  commit(): void {
    for (const [feed, response] of this.#newResponses) this.#responses.set(feed, response);
    this.#newResponses.clear();
    this.#isListNew = false;
    for (const feed of this.#responded) {
      this.#health.set(feed, afterSuccess(this.#now));
      const age = this.#responses.get(feed)?.age;
      if (age) this.#ages.set(feed, age);
    }
  }

  /** Forgets all responses, so that the next poll fetches every feed whole. */
  reset(): void {
    this.#responses.clear();
    this.#newResponses.clear();
  }

  /** Returns the names of the listed feeds, also of those that the service does not read. */
  names(): Promise<readonly string[]> {
    return Promise.resolve([...(this.#list?.feeds.keys() ?? [])]);
  }

  /** The health of each feed that was fetched or failed, and of the list of feeds (`gbfs`). */
  get health(): ReadonlyMap<DocumentName, FeedHealth> {
    return this.#health;
  }

  /** The age of the data of each feed that responded in the latest poll and whose age is judged. Empty before `commit`. */
  get ages(): ReadonlyMap<DocumentName, DocumentAge> {
    return this.#ages;
  }

  /** Ends the thread that parses documents, and frees its memory. */
  release(): Promise<void> {
    return this.#reader.release();
  }

  /** Whether the feed failed, and its next try is not due yet. */
  #isWaiting(feed: DocumentName): boolean {
    const { retryAt } = this.#health.get(feed) ?? UNKNOWN_HEALTH;
    return this.#now < retryAt;
  }

  /** Whether the feed's own `ttl` has not passed yet. */
  #isFresh(feed: DocumentName): boolean {
    const last = this.#responses.get(feed);
    return last !== undefined && this.#now < last.changesAt;
  }

  /** Replaces the list of feeds. Forgets the health of feeds that the new list does not name. */
  #takeList(list: DiscoveredFeeds, base: URL): void {
    this.#list = { ...list, base };
    this.#isListNew = true;
    const { feeds } = list;
    for (const feed of this.#health.keys()) if (feed !== "gbfs" && !feeds.has(feed)) this.#health.delete(feed);
  }

  /**
   * Fetches a feed from the first of its addresses that responds.
   * @returns undefined when the feed has not changed
   * @throws FeedFailure when no address responds with a document that can be read
   */
  async #ask<Name extends DocumentName>(feed: Name, addresses: readonly URL[]) {
    const { signal, intervalMs = 0 } = this.#options;
    const last = this.#responses.get(feed)?.address;
    let firstError: unknown;
    // The address that responded last comes first, because the others may time out again.
    for (const address of addresses.toSorted((a, b) => Number(b.href === last) - Number(a.href === last))) {
      try {
        const response = await this.#fetch(feed, address);
        this.#responded.add(feed);
        return response;
      } catch (error) {
        firstError ??= error;
        if (signal?.aborted === true) break;
      }
    }
    const failure = FeedFailure.from(feed, firstError);
    // A request that this process aborted is not a failure of the feed.
    if (signal?.aborted !== true) {
      const { message, retryAfterMs } = failure;
      const before = this.#health.get(feed) ?? UNKNOWN_HEALTH;
      this.#health.set(feed, afterFailure(before, { now: this.#now, message, retryAfterMs, intervalMs }));
    }
    throw failure;
  }

  /** Fetches and reads a feed with its translations. @returns undefined when neither it nor a translation has changed */
  async #fetch<Name extends DocumentName>(feed: Name, address: URL) {
    const before = this.#responses.get(feed);
    const main = await this.#get(address, before);
    const others = await this.#getTranslations(feed, before);
    const isChanged = ([language, { bytes, hash }]: readonly [string, Fetched]) =>
      bytes !== undefined && hash !== before?.translations.get(language)?.hash;
    const isUnchanged =
      before?.hash === main.hash && others.size === before.translations.size && ![...others].some(isChanged);
    if (isUnchanged) {
      // If the server sent equal bytes again, keeps the validators of the new response.
      if (main.bytes !== undefined) this.#newResponses.set(feed, { ...before, ...responseOf(main) });
      return undefined;
    }
    // Something has changed, so the reader needs every document whole. Fetches those again that came as "not modified".
    const bytes = main.bytes ?? (await this.#client.get(address)).bytes;
    // Only for the type: a request without validators is never answered by "not modified".
    if (bytes === undefined) return undefined;
    const translations: Translation[] = [];
    const kept = new Map<string, AddressResponse>();
    for (const [language, other] of others) {
      const translated =
        other.bytes ?? (await this.#getTranslation(language, new URL(other.address), undefined))?.bytes;
      if (translated === undefined) continue;
      translations.push({ language, bytes: translated });
      kept.set(language, responseOf(other));
    }
    const { content, ...rest } = await this.#reader.read(feed, bytes, this.#now, this.#language, translations);
    if ("language" in content) this.#language = content.language;
    this.#newResponses.set(feed, { ...responseOf(main), translations: kept, ...rest });
    return { content, url: main.url };
  }

  /** Fetches a document, or learns that it has not changed since the last response. */
  async #get(address: URL, last: AddressResponse | undefined): Promise<Fetched> {
    const held = last?.address === address.href ? last : undefined;
    const { url, bytes, validators } = await this.#client.get(address, held?.validators);
    const hash = bytes === undefined ? (held?.hash ?? "") : createHash("sha256").update(bytes).digest("base64");
    return { url, bytes, validators, hash, address: address.href };
  }

  /** Fetches a feed in the other languages of the list. A failed language counts as unchanged if it was fetched before. */
  async #getTranslations(feed: DocumentName, before: LastResponse | undefined): Promise<ReadonlyMap<string, Fetched>> {
    const found = new Map<string, Fetched>();
    if (this.#list === undefined || this.#list.translations.size === 0 || !hasTranslations(feed)) return found;
    const { base, feeds, translations } = this.#list;
    for (const [language, urls] of translations) {
      const listed = urls.get(feed);
      const [address] = listed === undefined ? [] : feedAddresses(listed, feed, base);
      if (address === undefined || listed === feeds.get(feed)) continue;
      const last = before?.translations.get(language);
      const fetched = await this.#getTranslation(language, address, last);
      if (fetched !== undefined) found.set(language, fetched);
      else if (last !== undefined) found.set(language, { ...last, url: address, bytes: undefined });
    }
    return found;
  }

  /**
   * Fetches a document in another language. Does not retry a failed document for a while, and after a failure without an
   * answer none of its language, because each may take until the timeout.
   */
  async #getTranslation(language: string, address: URL, last: AddressResponse | undefined) {
    const isEarly = (key: string) => this.#now < (this.#translationRetryAt.get(key) ?? 0);
    if (isEarly(language) || isEarly(address.href)) return undefined;
    try {
      return await this.#get(address, last);
    } catch (error) {
      const failed = error instanceof AnswerError ? address.href : language;
      this.#translationRetryAt.set(failed, this.#now + TRANSLATION_RETRY_MS);
      return undefined;
    }
  }
}

/** A response, or the knowledge that an earlier one is still right. */
interface Fetched extends AddressResponse {
  readonly url: URL;
  /** Undefined: the document has not changed. */
  readonly bytes: Uint8Array | undefined;
}

/** Returns what is kept of a response. */
function responseOf({ address, validators, hash }: Fetched): AddressResponse {
  return { address, validators, hash };
}

/**
 * Returns the content of a feed that the list of feeds does not have. Without `system_alerts`, there are no alerts,
 * unless the list is empty, which is probably a mistake. Any other absent feed changes nothing: what it said earlier
 * stays.
 */
function absentFeed(feed: DocumentName, feeds: ReadonlyMap<string, string>, now: number): Description | undefined {
  if (feed !== "system_alerts" || feeds.size === 0) return undefined;
  return readDescription(feed, { last_updated: now / 1000, data: { alerts: [] } }, now);
}

/**
 * Returns the addresses at which a listed feed may be: the listed address, then the address beside the `gbfs.json`, because
 * a moved or copied `gbfs.json` often still names its old host. A list that was fetched over https leads to https addresses
 * only, because a machine in the middle could replace feeds over http.
 */
export function feedAddresses(listed: string, feed: string, base: URL): URL[] {
  const beside = new URL(`${feed}.json`, base);
  const given = URL.parse(listed, base.href);
  if (given === null || !isHttp(given)) return [beside];
  if (base.protocol === "https:" && given.protocol === "http:") {
    // A port that an http address names does not serve https.
    if (given.port !== "") return [beside];
    given.protocol = "https:";
  }
  return given.host === base.host ? [given] : [given, beside];
}
