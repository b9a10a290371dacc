import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { isIP, type Socket, SocketAddress } from "node:net";
import { TLSSocket } from "node:tls";
import type { FastifyBaseLogger } from "fastify";
import { isLoopback, type NetworkList } from "../outbound/addresses/address-guard.ts";

/** How a request reached us, as far as the information can be trusted. */
export interface Transport {
  /** The caller's address: the socket's, or the one that a trusted proxy names; IPv4 and IPv6 in their canonical form. */
  readonly address: string;
  /** The request could not be read on its way: it used TLS or loopback. */
  readonly secure: boolean;
  /** An error in the setup of proxies or of this service, as far as this request reveals it. */
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
    // Somebody else's request, brought by a proxy on this machine: only its word could make it a secure one.
    return { address: peer, secure: protoOf(headers) === "https", misconfiguration: "untrusted" };
  };
}

/** The far end of a connection: the same for all of its requests. */
interface Peer {
  readonly address: string;
  readonly isTls: boolean;
  /** A trusted one. */
  readonly isProxy: boolean;
  /** On this machine. */
  readonly isLocal: boolean;
  /** The transport of a request without a proxy. */
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

/** Returns the scheme that the nearest proxy names in either of the headers that there are for it. */
export function protoOf(headers: IncomingHttpHeaders): string | undefined {
  const proto = last(headers["x-forwarded-proto"]);
  return proto ?? /;\s*proto="?([a-z]+)/.exec(`;${last(headers.forwarded) ?? ""}`)?.[1];
}

/**
 * Returns the nearest address that belongs to no trusted proxy, since the addresses to its left may be forged. When the
 * chain contains an invalid address, returns the last valid one before it.
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

/** Returns a socket's far end, which Node writes canonically, but for IPv4 inside IPv6 (::ffff:192.0.2.1). */
function peerAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/**
 * Reads an address as proxies write it: with or without a port, IPv6 in brackets or not, IPv4 inside IPv6.
 * @returns the address in its one canonical form, without the port; undefined where it cannot be read as an IP address
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
 * Returns the address under which requests without a key are counted: an IPv4 address itself; of IPv6 the /64 network,
 * which a single customer commonly has. Any other text is counted under itself.
 * @param bits of IPv6; providers give at most a /48 to one customer
 */
export function countedAddress(address: string, bits: 48 | 64 = 64): string {
  if (isIP(address) !== 6) return address;
  const groups = ipv6Groups(address).slice(0, bits / 16);
  return `${canonical(`${groups.join(":")}::`)}/${bits}`;
}

/** Whether an address, in its canonical form, is IPv6's way of writing an IPv4 address. */
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

function canonical(address: string): string {
  if (isIP(address) === 4) return address;
  // Node writes IPv6 as RFC 5952 does. A zone (`%eth0`) means something on its own machine only.
  const [withoutZone = ""] = address.split("%", 1);
  const written = new SocketAddress({ address: withoutZone, family: "ipv6" }).address;
  return MAPPED_IPV4.exec(written)?.[1] ?? written;
}

/** Returns the eight groups of an IPv6 address in its canonical form; one that ends in IPv4 has zeros in front either way. */
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

/** Logs each misconfiguration that requests show, once: it lasts, and every request would show it again. */
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

/** Warns of a listener that others can reach but whose answers they will never get: plain HTTP, and no proxy is named. */
export function warnOfPlainListener(
  { host, hasTls, trustedProxies }: { host: string; hasTls: boolean; trustedProxies: NetworkList },
  log: Pick<FastifyBaseLogger, "warn">,
): void {
  if (hasTls || trustedProxies.networks.length > 0 || host === "localhost" || isLoopback(host)) return;
  log.warn(
    `HOST=${host} is not loopback, and there is neither TLS nor a proxy: every request from another machine will be refused, but /healthz and /readyz. Set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES.`,
  );
}
