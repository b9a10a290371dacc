import type { Response } from "undici";
import { feedAddresses } from "../gbfs/address-source.ts";
import { MAX_DOCUMENT_BYTES, parseBounded, tooLarge } from "../gbfs/bounded-json.ts";
import { isObject, type JsonObject } from "../gbfs/values.ts";
import { createOutgoingClient, isHttp, type OutgoingClient, type OutgoingOptions, shownAddress } from "../outgoing.ts";
import type { FeedFile, FeedFiles } from "./feed-set.ts";
import { objectsIn } from "./rules/rule.ts";

/** The dependencies of reading feeds by HTTP. */
export interface ReadAddressOptions extends OutgoingOptions {
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Default: `MAX_TOTAL_BYTES`. */
  readonly maxTotalBytes?: number;
  /** Milliseconds for all files together. Default: `TOTAL_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
}

/** Time limits for one file, and for all files. Too low: slow servers fail. Too high: one check delays the next. */
const FILE_TIMEOUT_MS = 20_000;
const TOTAL_TIMEOUT_MS = 90_000;
/** Maximum bytes of all files, each read twice at most. The largest known feed sets have 20 MB. */
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/**
 * Maximum bytes of the files that are parsed here, on the main thread: gbfs.json and system_information.json. They usually
 * have some KB.
 */
const MAX_LIST_BYTES = 1024 * 1024;
/** Maximum files that are read of those that a gbfs.json lists. A feed set in ten languages has 130. */
const MAX_FILES = 150;
/** Maximum redirects of one file. Real feeds have one or two. */
const MAX_REDIRECTS = 3;
/** Concurrent requests. Too low: a check takes long. Too high: overloads a small server, which then seems slow. */
const CONCURRENCY = 3;

/** The `Origin` of the requests, as a browser sends it for a page that reads feeds. */
const ORIGIN = "https://planner.example";

/** Reads the feed set of a gbfs.json. @throws Error when the file cannot be read, is a manifest.json, or lists no feeds */
export async function readAddress(location: URL, options: ReadAddressOptions): Promise<FeedFiles> {
  const reader = new AddressReader(location, options);
  const first = await reader.fetch(location);
  if (first.bytes.byteLength > MAX_LIST_BYTES) throw tooLarge(MAX_LIST_BYTES);
  const content = parseBounded(first.bytes);
  const data = isObject(content) && isObject(content["data"]) ? content["data"] : {};
  if (Array.isArray(data["datasets"])) throw new Error(describeManifest(data));
  const listed = listedFeeds(data);
  if (listed.length === 0)
    throw new Error(`${shownAddress(location.href)} lists no feeds. Give the address of a gbfs.json.`);
  const { url: from, bytes, http, etag } = first;
  const files: ReadFile[] = [
    { name: "gbfs", language: null, address: shownAddress(location.href), bytes, http, from, etag },
  ];
  files.push(...(await severalAtATime(listed.slice(0, MAX_FILES), (feed) => reader.read(feed, from))));
  const manifest = manifestAddress(files);
  if (manifest !== undefined) files.push(await reader.read({ name: "manifest", language: null, url: manifest }, from));
  const read = await severalAtATime(files, (file) => reader.readAgain(file));
  return { kind: "address", location: shownAddress(location.href), files: read };
}

/** Returns a function that fetches one file of a feed set again, such as the vehicles. */
export function createFileReader(location: URL, options: ReadAddressOptions): (address: string) => Promise<Uint8Array> {
  // Makes a reader for each call, because a reader fetches an address only once.
  return async (address) => (await new AddressReader(location, options).fetch(new URL(address))).bytes;
}

/** A file that a gbfs.json lists. */
interface ListedFeed {
  readonly name: string;
  /** The language under which it is listed, up to GBFS 2.3; null: it is not listed by language. */
  readonly language: string | null;
  readonly url: string;
}

/** A file as it was fetched, with the facts about its response. */
interface Fetched extends Pick<FeedFile, "http"> {
  /** Where redirects led. */
  readonly url: URL;
  readonly bytes: Uint8Array;
  readonly etag: string | null;
}

/** The answer to a request for a file. A 304 has no bytes. */
interface Answer {
  readonly url: URL;
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly etag: string | null;
  readonly headers: Headers;
}

/** A file, with its final address and ETag for a second request. */
interface ReadFile extends FeedFile {
  readonly from?: URL;
  readonly etag?: string | null;
}

/** Reads the files of one feed set, within the limits on all of them. */
class AddressReader {
  readonly #options: ReadAddressOptions;
  readonly #client: OutgoingClient;
  /** Aborts the requests when the time for all files is over. */
  readonly #ends: AbortSignal;
  /** Requests by address, so that a file is fetched once: several languages often share a file. */
  readonly #fetched = new Map<string, Promise<Fetched>>();
  /** Second requests by address, each made once for the same reason. */
  readonly #fetchedAgain = new Map<string, Promise<Answer>>();
  /** Bytes of all responses so far, those of second requests included: all are in memory until the check ends. */
  #bytes = 0;

  constructor(location: URL, options: ReadAddressOptions) {
    this.#options = options;
    this.#ends = AbortSignal.timeout(options.timeoutMs ?? TOTAL_TIMEOUT_MS);
    this.#client = createOutgoingClient(location, options);
  }

  /** Fetches a file, once. @throws Error when it cannot be fetched, or all files together are too large */
  fetch(address: URL): Promise<Fetched> {
    const held = this.#fetched.get(address.href) ?? this.#fetch(address);
    this.#fetched.set(address.href, held);
    return held;
  }

  /** Reads a listed file from the first of its possible addresses that responds. Returns a failure instead of throwing. */
  async read({ name, language, url }: ListedFeed, base: URL): Promise<ReadFile> {
    let failure: string | undefined;
    for (const address of feedAddresses(url, name, base)) {
      try {
        const { url: from, bytes, http, etag } = await this.fetch(address);
        // If the list has an http address, the file counts as served by http, because consumers use the listed address.
        const isHttps = http?.isHttps === true && !url.startsWith("http:");
        return {
          name,
          language,
          address: shownAddress(address.href),
          bytes,
          from,
          etag,
          ...(http && { http: { ...http, isHttps } }),
        };
      } catch (error) {
        failure ??= error instanceof Error ? error.message : String(error);
      }
    }
    return { name, language, address: shownAddress(url), failure };
  }

  /**
   * Fetches a file again to find out whether the server resends an unchanged file, and how `last_updated` changes. Without
   * an ETag, only the files that change all the time are fetched again.
   */
  async readAgain({ from, etag, ...file }: ReadFile): Promise<FeedFile> {
    if (from === undefined || file.http === undefined) return file;
    const isStatus = /^(?:station_status|vehicle_status|free_bike_status)$/.test(file.name);
    if (!etag && !isStatus) return file;
    try {
      const request = this.#fetchedAgain.get(from.href) ?? this.#request(from, etag ? { "if-none-match": etag } : {});
      this.#fetchedAgain.set(from.href, request);
      const again = await request;
      if (again.status === 304) return { ...file, http: { ...file.http, answersNotModified: true } };
      // With another ETag, the file has changed, so the response does not tell whether the server sends 304.
      const isSame = etag !== null && again.etag === etag;
      return { ...file, ...(isSame && { http: { ...file.http, answersNotModified: false } }), later: again.bytes };
    } catch {
      // A failure of this second request is not reported. The first request has succeeded.
      return file;
    }
  }

  async #fetch(address: URL): Promise<Fetched> {
    const { monotonic } = this.#options;
    const start = monotonic();
    const { url, status, bytes, etag, headers } = await this.#request(address, {});
    // A 304 without a condition is an error of the server.
    if (status === 304) throw new Error("the answer has no body");
    const http = {
      isHttps: url.protocol === "https:",
      milliseconds: monotonic() - start,
      hasEtag: etag !== null,
      allowsOrigins: ["*", ORIGIN].includes(headers.get("access-control-allow-origin") ?? ""),
      isCompressed: /gzip|deflate|br|zstd/.test(headers.get("content-encoding") ?? ""),
    };
    return { url, bytes, etag, http };
  }

  /** Makes a request. @param conditions the headers that allow a 304. @throws Error that says why it failed */
  async #request(from: URL, conditions: Readonly<Record<string, string>>): Promise<Answer> {
    const { signal } = this.#options;
    const timeout = AbortSignal.timeout(FILE_TIMEOUT_MS);
    const signals = [timeout, this.#ends, ...(signal === undefined ? [] : [signal])];
    const headers = () => ({
      accept: "application/json",
      "accept-encoding": "gzip, deflate",
      origin: ORIGIN,
      ...conditions,
    });
    const request = {
      headers,
      maxRedirects: MAX_REDIRECTS,
      maxBytes: MAX_DOCUMENT_BYTES,
      signal: AbortSignal.any(signals),
    };
    try {
      const { url, response, close } = await this.#client.get(from, request);
      try {
        const { status, ok } = response;
        if (status !== 304 && !ok) throw new Error(`HTTP ${status}`);
        const bytes = status === 304 ? new Uint8Array() : await this.#bodyOf(response);
        return { url, status, bytes, etag: response.headers.get("etag"), headers: response.headers };
      } finally {
        await close();
      }
    } catch (error) {
      if (timeout.aborted || this.#ends.aborted) throw new Error("no whole response in time", { cause: error });
      throw innermost(error);
    }
  }

  /** Reads a body within the limits of one document and of all files. */
  async #bodyOf({ body }: Response): Promise<Uint8Array> {
    const { maxTotalBytes = MAX_TOTAL_BYTES } = this.#options;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      this.#bytes += chunk.byteLength;
      if (size > MAX_DOCUMENT_BYTES) throw tooLarge();
      if (this.#bytes > maxTotalBytes)
        throw new Error(`all files together are larger than ${maxTotalBytes / 1024 / 1024} MiB`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, size);
  }
}

/** Returns the reason for a failed request, which `fetch` wraps in a TypeError. Other errors are returned as they are. */
function innermost(error: unknown): unknown {
  let reason = error;
  while (reason instanceof TypeError && reason.cause instanceof Error) reason = reason.cause;
  return reason;
}

/** Returns the feeds that a gbfs.json lists. Up to GBFS 2.3, these are the feeds of all languages. */
export function listedFeeds(data: JsonObject): ListedFeed[] {
  const lists: readonly (readonly [string | null, unknown])[] = Array.isArray(data["feeds"])
    ? [[null, data]]
    : Object.entries(data);
  return lists.flatMap(([language, list]) =>
    objectsIn(isObject(list) ? list["feeds"] : undefined).flatMap(({ name, url }) =>
      typeof name === "string" && typeof url === "string" && name !== "gbfs" ? [{ name, url, language }] : [],
    ),
  );
}

/** Returns the address of the manifest if the system information names one that has not been read. */
export function manifestAddress(files: readonly FeedFile[]): string | undefined {
  const system = files.find(({ name }) => name === "system_information")?.bytes;
  if (system === undefined || system.byteLength > MAX_LIST_BYTES || files.some(({ name }) => name === "manifest"))
    return undefined;
  try {
    const content = parseBounded(system);
    const url = isObject(content) && isObject(content["data"]) ? content["data"]["manifest_url"] : undefined;
    const address = typeof url === "string" ? URL.parse(url) : null;
    return address !== null && isHttp(address) ? address.href : undefined;
  } catch {
    // The check reports what is wrong with this file.
    return undefined;
  }
}

/** Maximum addresses of feed sets that the message about a manifest names. */
const MAX_NAMED = 10;

/** Returns the message for the address of a manifest.json, which names the feed sets that it lists. */
function describeManifest(data: JsonObject): string {
  const urls = objectsIn(data["datasets"]).flatMap(({ versions }) => objectsIn(versions).map(({ url }) => url));
  const named = urls.filter((url) => typeof url === "string").slice(0, MAX_NAMED);
  return `This is a manifest of several feed sets. Check them one by one: ${named.join(", ")}`;
}

/** Processes `CONCURRENCY` items at a time, and returns the results in the order of the items. */
async function severalAtATime<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<number, Result>();
  let next = 0;
  // Each worker takes the next item that none has taken, until all are taken.
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) results.set(index, await work(item));
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return items.flatMap((_, index) => {
    const result = results.get(index);
    return result === undefined ? [] : [result];
  });
}
