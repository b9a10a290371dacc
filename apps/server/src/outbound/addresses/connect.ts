import type { Socket } from "node:net";
import type { SecureContext } from "node:tls";
import {
  type ConnectFailure,
  describeFailure,
  isLoopbackName,
  literalAddress,
  portOf,
  type Resolution,
} from "./address-guard.ts";
import { NetworkList } from "./network-list.ts";
import { connectFirst, startTls } from "./sockets.ts";

/** Limits of opening a connection. */
export interface ConnectLimits {
  /** TCP and TLS together, over all addresses of the name. */
  readonly connectTimeoutMs: number;
  /** Head start of an address over the next one (RFC 8305: Connection Attempt Delay). */
  readonly attemptDelayMs: number;
  /** Limits the addresses of a name that are tried; all are checked. */
  readonly maxAddresses: number;
}

export interface ConnectOptions {
  /** Returns why an address that a URL leads to must not be called; undefined when it may. */
  readonly refuse: (address: string, url: URL) => string | undefined;
  /** All addresses of a name. */
  readonly resolve: (name: string) => Promise<Resolution>;
  readonly limits: ConnectLimits;
  readonly monotonic: () => number;
  readonly secureContext: () => SecureContext;
}

/** Milliseconds that each part took; null where it did not happen. */
export interface ConnectTimings {
  readonly dns: number | null;
  /** TCP. */
  readonly connect: number | null;
  readonly tls: number | null;
}

/** An open connection to a checked address, or the failure; in both cases with the measured times. */
export interface ConnectResult {
  readonly result: { readonly socket: Socket } | ConnectFailure;
  readonly remoteAddress: string | null;
  readonly timings: ConnectTimings;
}

/**
 * Opens a connection for an http or https URL. Its addresses are looked up once and all of them are judged; only these
 * are connected to, and the peer's address is compared with them before the first byte is written. Never throws.
 */
export async function connectTo(url: URL, options: ConnectOptions): Promise<ConnectResult> {
  const { refuse, limits, monotonic } = options;
  const timings = { dns: null as number | null, connect: null as number | null, tls: null as number | null };
  const fail = (result: ConnectFailure, remoteAddress: string | null = null): ConnectResult => ({
    result,
    remoteAddress,
    timings,
  });

  const literal = literalAddress(url);
  const lookupStartedAt = monotonic();
  const answer = literal === undefined ? await options.resolve(url.hostname) : { addresses: [literal] };
  if (literal === undefined) timings.dns = monotonic() - lookupStartedAt;
  if (!("addresses" in answer)) return fail(answer);

  const judged = judgeAddresses(url, answer.addresses, refuse);
  if (!("addresses" in judged)) return fail(judged);

  const connectStartedAt = monotonic();
  const { connectTimeoutMs: timeoutMs, attemptDelayMs } = limits;
  const tcp = await connectFirst(alternate(judged.addresses, limits.maxAddresses), portOf(url), {
    timeoutMs,
    attemptDelayMs,
  });
  timings.connect = monotonic() - connectStartedAt;
  if (!("socket" in tcp)) return fail(tcp);

  const remoteAddress = tcp.socket.remoteAddress ?? null;
  const reason = judgePeer(remoteAddress, judged.addresses, url, refuse);
  if (reason !== undefined) {
    tcp.socket.destroy();
    return fail(reason, remoteAddress);
  }
  if (url.protocol === "http:") return { result: tcp, remoteAddress, timings };

  const tlsStartedAt = monotonic();
  const left = Math.max(1, limits.connectTimeoutMs - timings.connect);
  const result = await startTls(tcp.socket, literal ?? url.hostname, options.secureContext(), left);
  timings.tls = monotonic() - tlsStartedAt;
  return { result, remoteAddress, timings };
}

/**
 * Limits the addresses of one name. Too low: rejects a name with many servers. Too high: the owner of the name delays all
 * other attempts, by some µs for each of the 8,000 addresses that fit into two DNS answers.
 */
const MAX_ADDRESSES = 100;

/** Rejects all addresses if one is rejected: an owner who mixes it in cannot be trusted with the others. */
function judgeAddresses(
  url: URL,
  addresses: readonly string[],
  refuse: ConnectOptions["refuse"],
): { readonly addresses: readonly string[] } | ConnectFailure {
  if (addresses.length > MAX_ADDRESSES) {
    return describeFailure(
      "dns",
      `${url.hostname} has ${addresses.length} addresses; at most ${MAX_ADDRESSES} are accepted.`,
    );
  }
  const reasons = addresses.map((address) => refuse(address, url));
  if (isLoopbackName(url.hostname)) {
    // These two addresses are ours, not DNS answers; the operator may have named the network of only one.
    const named = addresses.filter((_address, index) => reasons[index] === undefined);
    if (named.length > 0) return { addresses: named };
  }
  const reason = reasons.find((each) => each !== undefined);
  return reason === undefined ? { addresses } : describeFailure("address_refused", reason);
}

/** The last check before anything is written: the peer is one of the judged addresses, and is still allowed. */
function judgePeer(
  remoteAddress: string | null,
  judged: readonly string[],
  url: URL,
  refuse: ConnectOptions["refuse"],
): ConnectFailure | undefined {
  if (remoteAddress === null)
    return describeFailure("reset", "The server closed the connection as soon as it had accepted it.");
  // Only the operator's own host may have an address with a zone (%), which no list takes; it is never connected to.
  if (!new NetworkList(judged.filter((address) => !address.includes("%"))).includes(remoteAddress)) {
    return describeFailure(
      "address_refused",
      `The connection led to ${remoteAddress}, which is not one of the checked addresses.`,
    );
  }
  const reason = refuse(remoteAddress, url);
  return reason === undefined ? undefined : describeFailure("address_refused", reason);
}

/** Returns the families in turn, so that a family without a route costs one head start only. */
function alternate(addresses: readonly string[], most: number): string[] {
  const families = [addresses.filter((each) => !each.includes(":")), addresses.filter((each) => each.includes(":"))];
  const longest = Math.max(...families.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => families.flatMap((family) => family.slice(index, index + 1)))
    .flat()
    .slice(0, most);
}
