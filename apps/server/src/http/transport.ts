import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { isLoopback, type NetworkList } from "../addresses/network-list.ts";
import { parseAddress } from "./client-address.ts";

/** How a request reached us, as far as we can trust what we are told. */
export interface Transport {
  /** The caller's address: the socket's, or what a trusted proxy says; IPv4 and IPv6 in their canonical form. */
  readonly address: string;
  /** Whether nobody on the way could read the request: TLS, or loopback. */
  readonly secure: boolean;
  /** What is wrong with the way that proxies and this service were set up, as far as this request shows it. */
  readonly misconfiguration?: ProxyMisconfiguration;
}

/**
 * `untrusted`: a proxy on this machine forwards requests, but TRUSTED_PROXIES does not name it. `scheme_missing`: a
 * trusted proxy does not say how its caller reached it.
 */
export type ProxyMisconfiguration = "untrusted" | "scheme_missing";

/**
 * Decides the transport of requests. A request is secure when our own listener speaks TLS, when it comes from this
 * machine, or when a trusted proxy says `X-Forwarded-Proto: https`. A header that is absent proves nothing, and
 * what anybody else writes can only make a request count as insecure.
 */
export function createTransport(trustedProxies: NetworkList): (request: IncomingMessage) => Transport {
  const isTrusted = (address: string) => trustedProxies.includes(address);
  return ({ socket, headers }) => {
    const peer = peerAddress(socket.remoteAddress ?? "");
    const isTls = socket instanceof TLSSocket;
    if (isTrusted(peer)) {
      const address = clientAddress(headers["x-forwarded-for"], peer, isTrusted);
      const proto = last(headers["x-forwarded-proto"]);
      if (proto !== undefined) return { address, secure: proto === "https" };
      // Whoever speaks TLS to us from a proxy's address, and forwards nothing, is no proxy.
      if (isTls && !isForwarded(headers)) return { address, secure: true };
      return { address, secure: false, misconfiguration: "scheme_missing" };
    }
    if (isTls || !isLoopback(peer)) return { address: peer, secure: isTls };
    if (!isForwarded(headers)) return { address: peer, secure: true };
    // Somebody else's request, brought by a proxy on this machine: only its word could make it a secure one.
    return { address: peer, secure: protoOf(headers) === "https", misconfiguration: "untrusted" };
  };
}

/** What proxies add, each another of them, and clients do not. */
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

/** The scheme that the nearest proxy names in either of the headers that there are for it. */
function protoOf(headers: IncomingHttpHeaders): string | undefined {
  const proto = last(headers["x-forwarded-proto"]);
  return proto ?? /;\s*proto="?([a-z]+)/.exec(`;${last(headers.forwarded) ?? ""}`)?.[1];
}

/**
 * The nearest address that no trusted proxy added itself: what lies left of it anyone may have written. Where the
 * chain holds something that is no address, the last known address in front of it.
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

/** The value that the proxy nearest to us wrote, in lower case. */
function last(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.at(-1) : header;
  return text?.split(",").at(-1)?.trim().toLowerCase();
}

/** A socket's far end, which Node writes canonically, but for IPv4 inside IPv6 (::ffff:192.0.2.1). */
function peerAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}
