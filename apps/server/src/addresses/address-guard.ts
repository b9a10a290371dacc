import { formatV4, isInNetwork, lowestV4, parseAddress, parseNetwork, unmapped } from "./ip-address.ts";
import type { IpAddress } from "./ip-address.ts";
import { findRefusedRange, translatedNetwork } from "./refused-ranges.ts";
import type { RangeKind } from "./refused-ranges.ts";

/** `named`: the operator has named its network. */
export type AddressVerdict =
  | { readonly ok: true; readonly named: boolean }
  | { readonly ok: false; readonly reason: RangeKind | "invalid" | "zone"; readonly message: string };

/**
 * Whether the service may call an address that somebody else chose: it is public or in a network that the operator has
 * named. Holds for literal addresses, for every answer of a name and for the far end of an open connection alike.
 *
 * @param allowNetworks as `parseNetworks` of http/networks.ts gives them
 */
export function judgeAddress(text: string, allowNetworks: readonly string[]): AddressVerdict {
  const address = parseAddress(text);
  if (address === null) return refuseSpelling(text);
  if (isNamed(address, allowNetworks)) return { ok: true, named: true };

  const range = findRefusedRange(translated(address) ?? address);
  if (range === undefined) return { ok: true, named: false };
  const inside = translated(address);
  const subject = inside === undefined ? text : `${formatV4(inside)} (inside ${text})`;
  return { ok: false, reason: range.kind, message: `${subject} is an address of ${range.name}.` };
}

/** The IPv4 address behind the public translator; where it leads counts, even if its own network is a named one. */
function translated(address: IpAddress): IpAddress | undefined {
  return isInNetwork(translatedNetwork, address) ? lowestV4(address) : undefined;
}

function isNamed(address: IpAddress, allowNetworks: readonly string[]): boolean {
  const plain = unmapped(address);
  return allowNetworks
    .map(parseNetwork)
    .some((network) => isInNetwork(network, plain) || isInNetwork(network, address));
}

function refuseSpelling(text: string): AddressVerdict {
  return text.includes("%")
    ? { ok: false, reason: "zone", message: "The address names a zone of this machine (%)." }
    : { ok: false, reason: "invalid", message: "The address is no IP address." };
}

/** Names that always mean this machine (RFC 6761). They are never asked of DNS, which could say anything. */
export const loopbackAddresses: readonly string[] = ["127.0.0.1", "::1"];

/** Whether a host (as `URL.hostname` gives it) is one of the names that mean this machine. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

/** The literal address that a host is (without brackets), or undefined where it is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  // The parser has already turned every spelling of IPv4 into the dotted one.
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname : undefined;
}

/** The port that a URL leads to. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}
