import type { Socket } from "node:net";
import type { Client, Response } from "undici";
import { checkAddress, lookUpLikeSystem, portOf, resolveName } from "../outbound/addresses/address-guard.ts";
import {
  type ConnectLimits,
  type ConnectOptions,
  connectTo,
  lazySecureContext,
} from "../outbound/addresses/connect.ts";

/*
 * The HTTP client for addresses of feeds and trip files. Their publishers are not trusted: only the configured host may be
 * in a private network, and limits bound what a server can send.
 */

/** Loads undici with the first request: it takes 12 MB, and many services ask for no address. */
const loadUndici = () => import("undici");

/** Time limit for finding the addresses of a host. */
const DNS_TIMEOUT_MS = 5_000;
const CONNECT_LIMITS: ConnectLimits = { connectTimeoutMs: 10_000, attemptDelayMs: 250, maxAddresses: 6 };

/**
 * Most bytes that may arrive before the headers of a response have ended. undici limits the headers of one response only.
 * Without this limit, a server that sends informational responses (1xx) without end would keep the process busy until the
 * timeout.
 */
const MAX_HEAD_BYTES = 64 * 1024;

/**
 * Most bytes on the connection for each byte of a body. Chunked encoding adds a fifth with chunks of 32 bytes, and less with
 * the larger chunks that servers send.
 */
const MAX_FRAMING = 1.25;

/** Options of requests. Most replace parts of the network in tests. */
export interface OutgoingOptions {
  /** Hosts that were reached at a public address. Several clients may share one such list. */
  readonly publicHosts?: PublicHosts | undefined;
  /** DNS servers (`address:port`) instead of the system's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly ca?: string | undefined;
}

/** Maximum hosts that are remembered. Too high: takes more memory. Too low: forgets that a host was public. */
const MAX_PUBLIC_HOSTS = 1_000;

/** The configured hosts that were reached at a public address, and must stay public. */
export class PublicHosts {
  readonly #hosts = new Set<string>();

  /** Tells whether the host was reached at a public address. */
  has({ hostname }: URL, port: number): boolean {
    return this.#hosts.has(`${hostname}:${port}`);
  }

  /** Remembers a host, and forgets the oldest above the limit. */
  add({ hostname }: URL, port: number): void {
    this.#hosts.add(`${hostname}:${port}`);
    for (const oldest of this.#hosts) {
      if (this.#hosts.size <= MAX_PUBLIC_HOSTS) break;
      this.#hosts.delete(oldest);
    }
  }
}

/** A GET request, and how far its redirects are followed. */
interface OutgoingRequest {
  /** Returns the headers for the first URL or the target of a redirect. */
  readonly headers: (url: URL) => Readonly<Record<string, string>>;
  readonly maxRedirects: number;
  /**
   * Most bytes of a body. The client counts only the bytes that arrive on the connection, because chunk extensions and
   * compressed data that unpack to nothing cost time without adding to the body. The reader of the body must count the
   * unpacked bytes itself.
   */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** A response. `close` closes its connection, and must be called once the body has been read. */
export interface OutgoingResponse {
  /** Where the last redirect led. */
  readonly url: URL;
  readonly response: Response;
  readonly close: () => Promise<void>;
}

/** Makes GET requests to a configured address of a feed or a trip file, and to addresses that it leads to. */
export interface OutgoingClient {
  /** Follows redirects. @throws Error that describes the failure in a few words, without the query of any URL */
  get(url: URL, request: OutgoingRequest): Promise<OutgoingResponse>;
}

/**
 * Creates a client.
 * @param location the configured address. Only its host is looked up like other programs do, `/etc/hosts` included.
 */
export function createOutgoingClient(location: URL, options: OutgoingOptions = {}): OutgoingClient {
  const { dnsServers, ca } = options;
  const rule = createAddressRule(location, options.publicHosts);
  const connectOptions: ConnectOptions = {
    refuse: rule.reject,
    resolve: (name) =>
      dnsServers === undefined && name === location.hostname
        ? lookUpLikeSystem(name, DNS_TIMEOUT_MS)
        : resolveName(name, { timeoutMs: DNS_TIMEOUT_MS, servers: dnsServers }),
    limits: CONNECT_LIMITS,
    monotonic: () => performance.now(),
    secureContext: lazySecureContext(ca),
  };

  /** Makes one request on a connection of its own, without following a redirect. */
  async function request(url: URL, { headers, maxBytes, signal }: OutgoingRequest): Promise<OutgoingResponse> {
    if (url.username !== "" || url.password !== "") {
      throw new Error(`${shownAddress(url.href)} holds a user or password before @; nothing is fetched with one`);
    }
    const undici = await loadUndici();
    const { socket, remoteAddress } = await connectUntil(url, connectOptions, signal);
    rule.reached(url, remoteAddress);
    const head = boundBytes(socket, MAX_HEAD_BYTES, "before the headers of its response ended");
    const dispatcher = connectionOver(undici, socket, url);
    const close = () => dispatcher.destroy();
    try {
      const response = await undici.fetch(url, { signal, redirect: "manual", headers: headers(url), dispatcher });
      // The headers have ended. From here on the limit on the body counts.
      head.end();
      boundBytes(socket, MAX_HEAD_BYTES + maxBytes * MAX_FRAMING, "for its response");
      return { url, response, close };
    } catch (error) {
      await close();
      throw error;
    }
  }

  return {
    async get(url, asked) {
      let address = url;
      for (let redirects = 0; redirects <= asked.maxRedirects; redirects++) {
        const answer = await request(address, asked);
        const target = answer.response.headers.get("location");
        if (!isRedirect(answer.response) || target === null) return answer;
        await answer.close();
        address = redirectTarget(target, address);
      }
      throw new Error(`more than ${asked.maxRedirects} redirects from ${shownAddress(url.href)}`);
    },
  };
}

/**
 * Returns the rule for addresses that may be called. Feeds and trip files come from public addresses: otherwise their
 * publishers could choose what this machine requests from its own network. The configured host and port may be private,
 * because the operator named it; once it has been reached at a public address it must stay public, because its name belongs
 * to the publisher.
 */
export function createAddressRule(location: URL, publicHosts: PublicHosts = new PublicHosts()) {
  const port = portOf(location);
  const isConfigured = (url: URL) => url.hostname === location.hostname && portOf(url) === port;
  return {
    /** Returns why an address that a URL resolves to must not be called; undefined when it may. */
    reject: (address: string, url: URL): string | undefined => {
      const verdict = checkAddress(address);
      if (verdict.ok || (isConfigured(url) && !publicHosts.has(location, port))) return undefined;
      return `${url.hostname}: ${verdict.message} Only public addresses are called, and the host that was configured`;
    },
    /** Notes the address at which a URL was reached; null: it is not known. */
    reached: (url: URL, address: string | null): void => {
      if (address !== null && isConfigured(url) && checkAddress(address).ok) publicHosts.add(location, port);
    },
  };
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

/** Returns where a redirect leads. @throws Error when it leaves http and https, or https for plain http */
function redirectTarget(location: string, from: URL): URL {
  const target = URL.parse(location, from.href);
  if (target === null) throw new Error("a redirect to an invalid URL");
  if (!isHttp(target)) throw new Error(`a redirect to ${target.protocol}, which is not http or https`);
  if (from.protocol === "https:" && target.protocol === "http:") {
    throw new Error(`a redirect from https to plain http (${shownAddress(target.href)})`);
  }
  return target;
}

/** Returns an undici client over one open socket; it never opens another. */
function connectionOver(undici: Awaited<ReturnType<typeof loadUndici>>, socket: Socket, url: URL): Client {
  let unused: Socket | undefined = socket;
  return new undici.Client(url.origin, {
    connect: (_request, callback) => {
      if (unused === undefined) return callback(new Error("the connection was closed"), null);
      const opened = unused;
      unused = undefined;
      // undici does not expect its connection before it has asked for one.
      return queueMicrotask(() => callback(null, opened));
    },
  });
}

/** Closes a connection when more than `most` bytes have arrived from now on. `end` removes this limit. */
function boundBytes(socket: Socket, most: number, when: string) {
  const from = socket.bytesRead;
  const check = () => {
    if (socket.bytesRead - from <= most) return;
    socket.destroy(new Error(`more than ${Math.round(most / 1024)} KiB came ${when}`));
  };
  // Listens to `readable`, because a listener to `data` would take the bytes that undici's own listener needs.
  socket.on("readable", check);
  return { end: () => socket.off("readable", check) };
}

/** Connects to the host of a URL. Rejects when that fails, or as soon as `signal` is aborted. */
async function connectUntil(url: URL, options: ConnectOptions, signal: AbortSignal) {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const connecting = connectTo(url, options);
  try {
    const { result, remoteAddress } = await Promise.race([connecting, aborted.promise]);
    if (!("socket" in result)) throw new Error(result.detail);
    return { socket: result.socket, remoteAddress };
  } catch (error) {
    // A socket that opens after the abort is closed. `connectTo` never rejects.
    if (signal.aborted) connecting.then(({ result }) => "socket" in result && result.socket.destroy()).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Tells whether an argument of the command is an http or https address. */
export function isAddress(argument: string): boolean {
  return /^https?:\/\//i.test(argument);
}

/** Tells whether a URL is an http or https address. */
export function isHttp({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}

/** Returns an address without its user, password and query, which may be secret. Any other text is returned unchanged. */
export function shownAddress(address: string): string {
  const url = isAddress(address) ? URL.parse(address) : null;
  return url === null ? address : `${url.origin}${url.pathname}`;
}
