import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isIP, type Socket, SocketAddress } from "node:net";
import { TLSSocket } from "node:tls";
import type { FastifyBaseLogger } from "fastify";
import { isLoopback, type NetworkList } from "../outbound/addresses/address-guard.ts";

/** How a request reached this service, according to trusted information only. */
export interface Transport {
  /** The caller's address: the socket's, or the one that a trusted proxy names; IPv4 and IPv6 in their canonical form. */
  readonly address: string;
  /** Whether nobody could read the request on its way, because it used TLS or loopback. */
  readonly secure: boolean;
  /** An error in the configuration of proxies or of this service that this request shows. */
  readonly misconfiguration?: ProxyMisconfiguration;
}

/**
 * `untrusted`: a proxy on this machine forwards requests, but TRUSTED_PROXIES does not name it. `scheme_missing`: a
 * trusted proxy does not say how its caller reached it.
 */
type ProxyMisconfiguration = "untrusted" | "scheme_missing";

/**
 * Returns a function that determines the transport of requests. A request is secure when our own listener speaks TLS, when
 * it comes from this machine, or when a trusted proxy sends `X-Forwarded-Proto: https`. An absent header proves nothing,
 * and untrusted headers can only make a request insecure.
 */
export function createTransport(trustedProxies: NetworkList): (request: IncomingMessage) => Transport {
  const isTrusted = (address: string) => trustedProxies.includes(address);
  const peers = new WeakMap<Socket, Peer>();
  const peerOf = (socket: Socket): Peer => {
    let peer = peers.get(socket);
    if (peer === undefined) {
      peer = readPeer(socket, isTrusted);
      peers.set(socket, peer);
    }
    return peer;
  };
  return ({ socket, headers }) => {
    const { address: peer, isTls, isProxy, isLocal, direct } = peerOf(socket);
    if (isProxy) {
      const address = clientAddress(headers["x-forwarded-for"], peer, isTrusted);
      const proto = last(headers["x-forwarded-proto"]);
      if (proto !== undefined) return { address, secure: proto === "https" };
      // A client that speaks TLS from a proxy's address and sends no forwarding header is not a proxy.
      if (isTls && !isForwarded(headers)) return direct;
      return { address, secure: false, misconfiguration: "scheme_missing" };
    }
    if (!isLocal || isTls || !isForwarded(headers)) return direct;
    // A proxy on this machine, which TRUSTED_PROXIES does not name, forwards another caller's request. Loopback proves
    // nothing then: the request is secure only if the proxy says so.
    return { address: peer, secure: protoOf(headers) === "https", misconfiguration: "untrusted" };
  };
}

/** The other end of a connection, which is the same for all requests on the connection. */
interface Peer {
  readonly address: string;
  readonly isTls: boolean;
  /** Whether it is a trusted proxy. */
  readonly isProxy: boolean;
  /** Whether it is on this machine. */
  readonly isLocal: boolean;
  /** The transport of a request that no proxy forwards. */
  readonly direct: Transport;
}

function readPeer(socket: Socket, isTrusted: (address: string) => boolean): Peer {
  const address = peerAddress(socket.remoteAddress ?? "");
  const isTls = socket instanceof TLSSocket;
  const isLocal = isLoopback(address);
  return { address, isTls, isProxy: isTrusted(address), isLocal, direct: { address, secure: isTls || isLocal } };
}

/** Headers that proxies add and clients do not. Different proxies add different ones. */
const FORWARDING_HEADERS = [
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "x-forwarded-server",
  "x-real-ip",
  "forwarded",
  "via",
] as const;

function isForwarded(headers: IncomingHttpHeaders): boolean {
  return FORWARDING_HEADERS.some((name) => headers[name] !== undefined);
}

/** Returns the scheme that the nearest proxy names in `X-Forwarded-Proto` or `Forwarded`. */
export function protoOf(headers: IncomingHttpHeaders): string | undefined {
  const proto = last(headers["x-forwarded-proto"]);
  // `Forwarded` has pairs such as `for=192.0.2.1;proto=https`. The semicolon in front lets `proto` also be the first
  // pair.
  return proto ?? /;\s*proto="?([a-z]+)/.exec(`;${last(headers.forwarded) ?? ""}`)?.[1];
}

/**
 * Returns the rightmost address of the header that is not a trusted proxy's, because addresses to its left may be forged. If
 * an invalid address is found first, returns the address to its right, or the peer's.
 */
function clientAddress(
  header: string | string[] | undefined,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  let known = peer;
  for (const hop of String(header ?? "")
    .split(",")
    .toReversed()) {
    if (hop.trim() === "") continue;
    const address = parseAddress(hop);
    if (address === undefined) return known;
    if (!isTrusted(address)) return address;
    known = address;
  }
  return known;
}

/** Returns the value that the proxy nearest to us wrote, in lower case. */
function last(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.at(-1) : header;
  return text?.split(",").at(-1)?.trim().toLowerCase();
}

/** Returns a socket's remote address in canonical form: as Node gives it, but IPv4 without `::ffff:` before it. */
function peerAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/**
 * Reads an address in any form that proxies write: with or without a port, IPv6 in brackets or not, IPv4 inside IPv6.
 * @returns the address in its canonical form, without the port; undefined if the text is not an IP address
 */
export function parseAddress(text: string): string | undefined {
  const written = text.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(written) ?? [];
  const [, beforePort] = /^([^:]*):\d{1,5}$/.exec(written) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? canonical(bracketed) : undefined;
  if (beforePort !== undefined) return isIP(beforePort) === 4 ? beforePort : undefined;
  return isIP(written) === 0 ? undefined : canonical(written);
}

/**
 * Returns the address under which requests without a key are counted: an IPv4 address itself, or the /64 network of an IPv6
 * address, which usually belongs to one customer. Returns any other text unchanged.
 * @param bits the length of the IPv6 network; providers give at most a /48 to one customer
 */
export function countedAddress(address: string, bits: 48 | 64 = 64): string {
  if (isIP(address) !== 6) return address;
  const groups = ipv6Groups(address).slice(0, bits / 16);
  return `${canonical(`${groups.join(":")}::`)}/${bits}`;
}

/** Matches an IPv4 address that is written as an IPv6 address, in canonical form. */
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

function canonical(address: string): string {
  if (isIP(address) === 4) return address;
  // Node writes IPv6 as RFC 5952 does. A zone (`%eth0`) is dropped, because it has a meaning only on one machine.
  const [withoutZone = ""] = address.split("%", 1);
  const written = new SocketAddress({ address: withoutZone, family: "ipv6" }).address;
  return MAPPED_IPV4.exec(written)?.[1] ?? written;
}

/** Returns the eight groups of an IPv6 address. If it ends in IPv4, only the first six are right, which is enough here. */
function ipv6Groups(address: string): string[] {
  const [head = "", tail] = canonical(address).split("::");
  const before = head === "" ? [] : head.split(":");
  if (tail === undefined) return before;
  const after = tail === "" ? [] : tail.split(":");
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0"), ...after];
}

const MESSAGES: Readonly<Record<ProxyMisconfiguration, string>> = {
  untrusted:
    "A proxy on this machine forwards requests, but TRUSTED_PROXIES does not name it: every caller counts as this machine, and a request that the proxy does not say came by https is refused. Set TRUSTED_PROXIES to the proxy's address.",
  scheme_missing:
    "A proxy of TRUSTED_PROXIES does not send X-Forwarded-Proto, so its requests are refused: they may have come over plain HTTP. Let it set the header to the scheme its caller used.",
};

/** Logs each kind of misconfiguration only once, because every later request would show it again. */
export function withProxyWarnings(
  transport: (request: IncomingMessage) => Transport,
  log: Pick<FastifyBaseLogger, "error">,
): (request: IncomingMessage) => Transport {
  const reported = new Set<ProxyMisconfiguration>();
  return (request) => {
    const found = transport(request);
    const { misconfiguration } = found;
    if (misconfiguration !== undefined && !reported.has(misconfiguration)) {
      reported.add(misconfiguration);
      log.error({ peer: request.socket.remoteAddress }, MESSAGES[misconfiguration]);
    }
    return found;
  };
}

/** Warns of a listener with plain HTTP and without a trusted proxy: it refuses all requests from other machines. */
export function warnOfPlainListener(
  { host, hasTls, trustedProxies }: { host: string; hasTls: boolean; trustedProxies: NetworkList },
  log: Pick<FastifyBaseLogger, "warn">,
): void {
  if (hasTls || trustedProxies.networks.length > 0 || host === "localhost" || isLoopback(host)) return;
  log.warn(
    `HOST=${host} is not loopback, and there is neither TLS nor a proxy: every request from another machine will be refused, but /healthz and /readyz. Set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES.`,
  );
}
