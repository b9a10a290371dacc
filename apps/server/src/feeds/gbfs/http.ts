/** Milliseconds until a feed must have come whole. Lower fails slow cities; higher lets one feed delay all others. */
const TIMEOUT = 20_000;
/** Bytes of a feed, unpacked. The largest known have about 15 MB; a feed without bound would fill the memory. */
const GREATEST_SIZE = 64 * 1024 * 1024;
/** Redirects followed. Real feeds have one or two (http to https, a new host). */
const GREATEST_REDIRECTS = 3;

/** A document, and the address at which it was found in the end. */
export interface Fetched {
  readonly url: URL;
  readonly document: unknown;
}

/** What a server said last time about the version that it sent, to be asked whether there is a newer one. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** An answer's bytes; undefined when nothing changed since the one that the validators came with. */
export interface FetchedBytes {
  readonly url: URL;
  readonly bytes: Uint8Array | undefined;
  readonly validators: Validators;
}

/** Bounds of a fetch; tests make them small. */
export interface FetchLimits {
  readonly timeout?: number;
  readonly greatestSize?: number;
  /** Gives the fetch up. */
  readonly signal?: AbortSignal;
}

const NO_VALIDATORS: Validators = { etag: null, lastModified: null };

/**
 * Gets a JSON document.
 * @throws Error that says what went wrong, in a few words: it goes into the report
 */
export async function fetchJson(url: URL, limits: FetchLimits = {}): Promise<Fetched> {
  const { url: address, bytes } = await fetchBytes(url, limits);
  return { url: address, document: parseJson(bytes ?? new Uint8Array()) };
}

/**
 * Gets a document's bytes, or learns that nothing changed since the answer that `held` came with.
 * @throws Error that says what went wrong, in a few words: it goes into the report
 */
export async function fetchBytes(url: URL, limits: FetchLimits = {}, held = NO_VALIDATORS): Promise<FetchedBytes> {
  const timeout = AbortSignal.timeout(limits.timeout ?? TIMEOUT);
  const signal = limits.signal ? AbortSignal.any([timeout, limits.signal]) : timeout;
  try {
    const { response, address } = await follow(url, signal, held);
    const isConditional = held.etag !== null || held.lastModified !== null;
    if (response.status === 304 && isConditional) {
      await response.body?.cancel();
      return { url: address, bytes: undefined, validators: held };
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`HTTP ${response.status} from ${address.href}`);
    }
    const bytes = await bodyOf(response, limits.greatestSize ?? GREATEST_SIZE);
    const { headers } = response;
    return {
      url: address,
      bytes,
      validators: { etag: headers.get("etag"), lastModified: headers.get("last-modified") },
    };
  } catch (error) {
    if (timeout.aborted) throw new Error(`no whole answer in time from ${url.href}`, { cause: error });
    const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause.message : undefined;
    throw cause === undefined ? error : new Error(`${cause} (${url.href})`, { cause: error });
  }
}

/** @throws Error when the bytes are no JSON */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    // Drops a byte order mark, which JSON.parse would refuse.
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new Error("it is not JSON", { cause: error });
  }
}

async function follow(url: URL, signal: AbortSignal, { etag, lastModified }: Validators) {
  let address = url;
  const headers = {
    accept: "application/json",
    ...(etag === null ? {} : { "if-none-match": etag }),
    ...(lastModified === null ? {} : { "if-modified-since": lastModified }),
  };
  for (let redirects = 0; redirects <= GREATEST_REDIRECTS; redirects++) {
    const response = await fetch(address, { signal, redirect: "manual", headers });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return { response, address };
    await response.body?.cancel();
    if (!URL.canParse(location, address.href)) throw new Error(`a redirect to ${location}`);
    address = new URL(location, address);
    if (!isHttp(address)) throw new Error(`a redirect to ${address.href}`);
  }
  throw new Error(`more than ${GREATEST_REDIRECTS} redirects from ${url.href}`);
}

export function isHttp({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

async function bodyOf(response: Response, greatestSize: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body: AsyncIterable<Uint8Array> | undefined = response.body ?? undefined;
  if (body === undefined) return new Uint8Array();
  // Leaving the loop closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > greatestSize) throw new Error(`it is larger than ${greatestSize} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** @throws Error when a file of this size would not be read */
export function refuseTooLarge(size: number): void {
  if (size > GREATEST_SIZE) throw new Error(`it is larger than ${GREATEST_SIZE} bytes`);
}
