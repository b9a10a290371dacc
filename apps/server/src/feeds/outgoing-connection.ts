import type { Socket } from "node:net";
import { Client } from "undici";
import { connectTo, type ConnectLimits, type ConnectOptions } from "../addresses/connect.ts";
import { lookUpLikeSystem, resolveName } from "../addresses/resolve.ts";
import { lazySecureContext } from "../addresses/sockets.ts";
import type { OutgoingRules } from "./outgoing-rules.ts";

const DNS_TIMEOUT_MS = 5_000;
const DIAL_LIMITS: ConnectLimits = { connectTimeoutMs: 10_000, attemptDelayMs: 250, maxAddresses: 6 };

/** What stands in for the world in tests. */
export interface OutgoingWorld {
  /** DNS servers (`address:port`) instead of the system's. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly ca?: string | undefined;
}

/**
 * How addresses are dialled to which the operator's own leads.
 * @param location what the operator named; its host alone is looked up as every program of this machine does
 */
export function outgoingDialOptions(
  location: URL,
  rules: OutgoingRules,
  { dnsServers: servers, ca }: OutgoingWorld = {},
): ConnectOptions {
  return {
    refuse: rules.refuse,
    resolve: (name) =>
      servers === undefined && name === location.hostname
        ? lookUpLikeSystem(name, DNS_TIMEOUT_MS)
        : resolveName(name, { timeoutMs: DNS_TIMEOUT_MS, servers }),
    limits: DIAL_LIMITS,
    monotonic: () => performance.now(),
    secureContext: lazySecureContext(ca),
  };
}

/**
 * Opens a connection for a URL to an address that was judged, for one request. It never opens another.
 * @throws Error when there is none, or the signal's reason
 */
export async function openConnection(
  url: URL,
  options: ConnectOptions,
  { signal, reached }: { readonly signal: AbortSignal; readonly reached: (address: string | null) => void },
): Promise<Client> {
  const { socket, remoteAddress } = await dialUntil(url, options, signal);
  reached(remoteAddress);
  let unused: Socket | undefined = socket;
  return new Client(url.origin, {
    connect: (_request, callback) => {
      if (unused === undefined) return callback(new Error("the connection was closed"), null);
      const opened = unused;
      unused = undefined;
      // undici does not expect its connection before it has asked for one.
      return queueMicrotask(() => callback(null, opened));
    },
  });
}

async function dialUntil(url: URL, options: ConnectOptions, signal: AbortSignal) {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const dialling = connectTo(url, options);
  try {
    const { result, remoteAddress } = await Promise.race([dialling, aborted.promise]);
    if (!("socket" in result)) throw new Error(result.detail);
    return { socket: result.socket, remoteAddress };
  } catch (error) {
    // What is opened too late serves nobody. Dialling never throws.
    if (signal.aborted) dialling.then(({ result }) => "socket" in result && result.socket.destroy()).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
