import { isIP, SocketAddress } from "node:net";

/**
 * Reads an address as proxies write it: with or without a port, IPv6 in brackets or not, IPv4 inside IPv6.
 * @returns the address in its one canonical form, without the port; undefined for what is no IP address
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
 * What requests without a key are counted under: an IPv4 address itself, of IPv6 the /64 network, because that is
 * what a single customer commonly has to itself. A text that is no address stands for itself.
 */
export function countedAddress(address: string): string {
  if (isIP(address) !== 6) return address;
  const groups = ipv6Groups(address).slice(0, 4);
  return `${canonical(`${groups.join(":")}::`)}/64`;
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

/** The eight groups of an IPv6 address in its canonical form; one that ends in IPv4 has zeros in front either way. */
function ipv6Groups(address: string): string[] {
  const [head = "", tail] = canonical(address).split("::");
  const before = head === "" ? [] : head.split(":");
  if (tail === undefined) return before;
  const after = tail === "" ? [] : tail.split(":");
  return [...before, ...Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0"), ...after];
}
