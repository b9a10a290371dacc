import { isInNetwork, parseNetwork } from "./ip-address.ts";
import type { IpAddress, IpNetwork } from "./ip-address.ts";

/** A stable word for the kind of place an address belongs to, for logs and messages. */
export type RangeKind =
  | "this_network"
  | "loopback"
  | "private"
  | "shared"
  | "link_local"
  | "metadata"
  | "protocol"
  | "documentation"
  | "benchmark"
  | "relay"
  | "translation"
  | "embedded"
  | "discard"
  | "segment_routing"
  | "multicast"
  | "reserved";

/** A range that no call of ours may reach. */
export interface RefusedRange {
  readonly text: string;
  readonly kind: RangeKind;
  /** What it is, as the end of "… is an address of …". */
  readonly name: string;
  readonly network: IpNetwork;
}

/**
 * The special-purpose registries of IANA (RFC 6890 and its followers) and what clouds put beside them. Where ranges
 * lie inside one another the narrower comes first, because the first match names the reason.
 */
export const refusedRanges: readonly RefusedRange[] = [
  range("0.0.0.0/8", "this_network", "“this network”"),
  range("10.0.0.0/8", "private", "a private network"),
  range("100.64.0.0/10", "shared", "a carrier's shared network"),
  range("127.0.0.0/8", "loopback", "this machine itself"),
  range("169.254.0.0/16", "link_local", "the local link, where clouds keep their metadata"),
  range("172.16.0.0/12", "private", "a private network"),
  range("192.0.0.0/24", "protocol", "protocol assignments"),
  range("192.0.2.0/24", "documentation", "documentation"),
  range("192.88.99.0/24", "relay", "6to4 relays"),
  range("192.168.0.0/16", "private", "a private network"),
  range("198.18.0.0/15", "benchmark", "benchmark networks"),
  range("198.51.100.0/24", "documentation", "documentation"),
  range("203.0.113.0/24", "documentation", "documentation"),
  range("224.0.0.0/4", "multicast", "multicast"),
  range("240.0.0.0/4", "reserved", "a reserved block"),
  // Public by its number, but inside Azure it answers every virtual machine with the platform's own services.
  range("168.63.129.16/32", "metadata", "a cloud's own services"),

  range("::/128", "this_network", "“this network”"),
  range("::1/128", "loopback", "this machine itself"),
  range("::ffff:0:0/96", "embedded", "IPv4 inside IPv6; write the IPv4 address"),
  range("64:ff9b:1::/48", "translation", "a local translator to IPv4"),
  // The rest of the block: IPv4-compatible (::7f00:1), ISATAP (::5efe:7f00:1) and whatever was never assigned.
  range("::/8", "embedded", "a reserved block that holds IPv4 inside IPv6"),
  range("100::/64", "discard", "a block that discards"),
  range("100:0:0:1::/64", "discard", "a dummy block"),
  range("2001::/23", "protocol", "protocol assignments"),
  range("2001:db8::/32", "documentation", "documentation"),
  range("2002::/16", "relay", "6to4, which holds IPv4 inside IPv6"),
  range("3fff::/20", "documentation", "documentation"),
  range("5f00::/16", "segment_routing", "segment routing"),
  range("fc00::/7", "private", "a private network"),
  range("fe80::/10", "link_local", "the local link"),
  range("fec0::/10", "private", "a private network (site-local)"),
  range("ff00::/8", "multicast", "multicast"),
];

/** 64:ff9b::/96: the public translator to IPv4 (RFC 6052). It leads to the IPv4 address in its last 32 bits. */
export const translatedNetwork: IpNetwork = parseNetwork("64:ff9b::/96");

/**
 * The public anycast services inside 2001::/23: AMT relays and AS112. Of what the registry calls globally reachable
 * there, the rest stays refused: 2001:1::1 to ::3 (PCP, TURN, SRP) lead by design to the nearest server, which is our
 * own network's gateway, and ORCHIDs and drone identifiers (2001:20::/28, 2001:30::/28) name things, not places.
 */
const publicAnycast: readonly IpNetwork[] = [parseNetwork("2001:3::/32"), parseNetwork("2001:4:112::/48")];

/** The range that refuses an address, or undefined where it is public. Knows nothing of what it may translate to. */
export function findRefusedRange(address: IpAddress): RefusedRange | undefined {
  if (publicAnycast.some((network) => isInNetwork(network, address))) return undefined;
  return refusedRanges.find(({ network }) => isInNetwork(network, address));
}

function range(text: string, kind: RangeKind, name: string): RefusedRange {
  return { text, kind, name, network: parseNetwork(text) };
}
