import type { Server } from "node:http";
import type { Socket } from "node:net";
import { isLoopback, type NetworkList } from "../addresses/network-list.ts";
import { countedAddress, parseAddress } from "./client-address.ts";

/**
 * Connections at once where nobody says another number. Each costs up to about 64 KiB, most of it what its caller has
 * not read yet: lower, and a busy day's callers are turned away; higher, and callers that do not read take memory
 * that the service needs.
 */
export const DEFAULT_MAX_CONNECTIONS = 4096;

/**
 * The part of all connections that one address may have: enough for any caller, and too little to keep the others
 * out. Proxies that are trusted bring everybody's requests, and this machine's own callers are ours: neither is bound.
 */
const SHARE_OF_ONE_ADDRESS = 10;

/** Closes connections beyond a number of them in all, and beyond a tenth of it from one address, as they come. */
export function limitConnections(
  server: Server,
  { maxConnections, trustedProxies }: { readonly maxConnections: number; readonly trustedProxies: NetworkList },
): void {
  server.maxConnections = maxConnections;
  const mostOfOne = Math.ceil(maxConnections / SHARE_OF_ONE_ADDRESS);
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const address = parseAddress(socket.remoteAddress ?? "");
    if (address === undefined || isLoopback(address) || trustedProxies.includes(address)) return;
    const counted = countedAddress(address);
    const count = (open.get(counted) ?? 0) + 1;
    open.set(counted, count);
    socket.once("close", () => {
      const left = (open.get(counted) ?? 1) - 1;
      if (left === 0) open.delete(counted);
      else open.set(counted, left);
    });
    if (count > mostOfOne) socket.destroy();
  });
}
