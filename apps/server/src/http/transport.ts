import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { createNetworkCheck, isLoopback } from "./networks.ts";

/** How a request reached us, as far as we can trust what we are told. */
export interface Transport {
  /** The caller's address: the socket's, or what a trusted proxy says. */
  readonly address: string;
  /** Whether nobody on the way could read the request: TLS, or loopback. */
  readonly secure: boolean;
}

/**
 * Decides the transport of requests. A request is secure when our own listener speaks TLS, when it comes from this
 * machine, or when a trusted proxy says `X-Forwarded-Proto: https`. A header that is absent proves nothing.
 */
export function createTransport(trustedProxies: readonly string[]): (request: IncomingMessage) => Transport {
  const isTrusted = createNetworkCheck(trustedProxies);
  return ({ socket, headers }) => {
    const peer = plain(socket.remoteAddress ?? "");
    if (trustedProxies.length > 0 && isTrusted(peer)) {
      const proto = last(headers["x-forwarded-proto"])?.toLowerCase();
      const address = clientAddress(headers["x-forwarded-for"], peer, isTrusted);
      if (proto !== undefined) return { address, secure: proto === "https" };
      return { address, secure: socket instanceof TLSSocket || (address === peer && isLoopback(peer)) };
    }
    return { address: peer, secure: socket instanceof TLSSocket || isLoopback(peer) };
  };
}

/** The nearest address that no trusted proxy added itself: what lies left of it anyone may have written. */
function clientAddress(
  header: string | string[] | undefined,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  const hops = String(header ?? "")
    .split(",")
    .map((hop) => plain(hop.trim()))
    .filter((hop) => hop !== "");
  return hops.findLast((hop) => !isTrusted(hop)) ?? hops[0] ?? peer;
}

/** The value that the proxy nearest to us wrote. */
function last(header: string | string[] | undefined): string | undefined {
  const text = Array.isArray(header) ? header.at(-1) : header;
  return text?.split(",").at(-1)?.trim();
}

/** IPv4 written as IPv6 (::ffff:192.0.2.1), in its own form. */
function plain(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}
