import { lookup, Resolver } from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

// Decides which IP addresses the service may call (`checkAddress`), and looks up the addresses of names.

/** ::ffff:0:0/96: how an IPv6 socket writes IPv4 addresses (RFC 4291). */
const mappedIpv4 = new BlockList();
mappedIpv4.addSubnet("::ffff:0:0", 96, "ipv6");

/** Most results that a list caches, of some 100 bytes each. A full cache is emptied. */
const MAX_KNOWN = 1_000;

/** IP addresses and networks. An IPv4 address and its mapped form (`::ffff:10.0.0.1`) are one address. */
export class NetworkList {
  /** The networks as written, such as `10.0.0.0/8` and `::1`. Bits behind the prefix are ignored. */
  readonly networks: readonly string[];
  // Two lists, because in one list for both families `::/8` would include every IPv4 address, by its mapped form.
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();
  /** Results of earlier look-ups. Most look-ups are for few addresses, and each costs some microseconds. */
  readonly #known = new Map<string, boolean>();

  /** @throws Error naming the text that is neither an address nor a network */
  constructor(networks: readonly string[]) {
    this.networks = networks;
    for (const network of networks) this.#add(network);
  }

  includes(address: string): boolean {
    if (this.networks.length === 0) return false;
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const found = this.#lookUp(address);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(address, found);
    return found;
  }

  #lookUp(address: string): boolean {
    const family = isIP(address);
    if (family === 4) return this.#ipv4.check(address, "ipv4");
    return family === 6 && (this.#ipv6.check(address, "ipv6") || this.#ipv4.check(address, "ipv6"));
  }

  #add(network: string): void {
    const [address = "", prefixText, ...rest] = network.split("/");
    const family = isIP(address);
    const bits = family === 4 ? 32 : 128;
    const prefix = prefixText === undefined ? bits : Number(prefixText);
    const isPrefixValid = prefixText === undefined || (/^\d{1,3}$/.test(prefixText) && prefix <= bits);
    if (family === 0 || address.includes("%") || !isPrefixValid || rest.length > 0) {
      throw new Error(`"${network}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
    if (family === 4) this.#ipv4.addSubnet(address, prefix, "ipv4");
    // A network of mapped addresses goes to the IPv4 list, in which both forms of an address are found.
    else if (prefix >= 96 && mappedIpv4.check(address, "ipv6")) this.#ipv4.addSubnet(address, prefix, "ipv6");
    else this.#ipv6.addSubnet(address, prefix, "ipv6");
  }
}

/**
 * Reads a comma-separated list of IP addresses and networks, such as `10.0.0.0/8, ::1`.
 * @throws Error naming the part that is neither an address nor a network
 */
export function parseNetworks(text: string): NetworkList {
  return new NetworkList(
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  );
}

const loopback = new NetworkList(["127.0.0.0/8", "::1"]);

/** Tells whether an address is this machine's own loopback, IPv4 inside IPv6 included. */
export function isLoopback(address: string): boolean {
  return loopback.includes(address);
}

/**
 * Why there is no connection.
 *
 * - `address_refused`: the address may not be called, by our own rules.
 * - `dns`: the name has no address, or DNS failed. `dns_timeout`: DNS did not answer in time.
 * - `connect_refused`, `connect_timeout`, `connect`: no address accepted a connection. The timeout includes the TLS
 *   handshake.
 * - `tls`: no connection that can be trusted, such as a wrong or expired certificate.
 * - `reset`: the server closed the connection as soon as it had accepted it.
 */
export type ConnectFailureCode =
  | "address_refused"
  | "dns"
  | "dns_timeout"
  | "connect_refused"
  | "connect_timeout"
  | "connect"
  | "tls"
  | "reset";

/** A failure: its code, and a description for people. */
export interface DescribedFailure<Kind extends string> {
  readonly failure: Kind;
  readonly detail: string;
}

/** Why there is no connection, as its code and in words. */
export type ConnectFailure = DescribedFailure<ConnectFailureCode>;

/** Most characters of a failure's description. Too low: cuts OpenSSL's messages. Too high: shows long texts of servers. */
const MAX_DETAIL_LENGTH = 300;

/** Describes a failure in a text that may be shown: without control characters, and of limited length. */
export function describeFailure<Kind extends string>(failure: Kind, words: string): DescribedFailure<Kind> {
  // oxlint-disable-next-line no-control-regex -- control characters are the point
  const safe = words.replace(/[\u0000-\u001f\u007f]+/g, " ").trim();
  return { failure, detail: safe.length > MAX_DETAIL_LENGTH ? `${safe.slice(0, MAX_DETAIL_LENGTH - 1)}…` : safe };
}

/** `named` is true when the operator has allowed the address's network. `reason` is a stable word, for logs. */
type AddressVerdict =
  | { readonly ok: true; readonly named: boolean }
  | { readonly ok: false; readonly reason: string; readonly message: string };

/**
 * Tells whether the service may call an address that somebody else chose: a public address, or one in a network that the
 * operator has allowed. The same rule applies to an address in a URL, to each address that DNS returns for a name, and to
 * the peer of an open connection.
 */
export function checkAddress(address: string, allowNetworks?: NetworkList): AddressVerdict {
  if (address.includes("%")) {
    return { ok: false, reason: "zone", message: "The address has a zone of this machine (%)." };
  }
  if (isIP(address) === 0) return { ok: false, reason: "invalid", message: "The address is not a valid IP address." };
  // Before the refused ranges: the operator may allow a private network.
  if (allowNetworks?.includes(address) === true) return { ok: true, named: true };
  const refused = findRefusedRange(address);
  if (refused === undefined) return { ok: true, named: false };
  const verb = isTranslated(address) ? "translates to" : "is";
  return { ok: false, reason: refused.kind, message: `${address} ${verb} an address of ${refused.name}.` };
}

/** A range of addresses that the service may not call. */
interface RefusedRange {
  readonly network: string;
  /** A stable word for the range, for logs. */
  readonly kind: string;
  /** The range's name, as the end of "… is an address of …". */
  readonly name: string;
  readonly list: BlockList;
}

/**
 * The IPv4 ranges that are refused: those in IANA's special-purpose registries (RFC 6890 and its successors), and addresses
 * that clouds use. If one range contains another, the smaller comes first, because the first match names the reason.
 */
export const refusedIpv4: readonly RefusedRange[] = [
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
  // A public address, but inside Azure it leads every virtual machine to the platform's own services.
  range("168.63.129.16/32", "metadata", "a cloud's own services"),
];

/** The IPv6 ranges that are refused. If one range contains another, the smaller comes first. */
export const refusedIpv6: readonly RefusedRange[] = [
  range("::/128", "this_network", "“this network”"),
  range("::1/128", "loopback", "this machine itself"),
  range("::ffff:0:0/96", "embedded", "IPv4 inside IPv6; write the IPv4 address"),
  range("64:ff9b:1::/48", "translation", "a local translator to IPv4"),
  // The rest of the block ::/8: IPv4-compatible (::7f00:1), ISATAP (::5efe:7f00:1) and unassigned addresses.
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

// All refused ranges of a family in one list, so that one look-up is enough for most addresses, which are in no range. The
// families have separate lists: in a common list, `::/8` would include every IPv4 address, by its mapped form (`::ffff:…`).
const anyRefusedIpv4 = blockList(...refusedIpv4.map(({ network }) => network));
const anyRefusedIpv6 = blockList(...refusedIpv6.map(({ network }) => network));

/** The public translator to IPv4 (RFC 6052). It leads to the IPv4 address in the last 32 bits. */
const translator = blockList("64:ff9b::/96");

/**
 * The public anycast services inside 2001::/23 that may be called: AMT relays and AS112. The registry calls more addresses
 * there globally reachable, but these stay refused: 2001:1::1 to ::3 (PCP, TURN, SRP) lead by design to the nearest server,
 * which is our own network's gateway. ORCHIDs and drone identifiers (2001:20::/28, 2001:30::/28) belong to no server.
 */
const publicAnycast = blockList("2001:3::/32", "2001:4:112::/48");

/** Returns the refused range that contains an address; undefined when the address is public. */
function findRefusedRange(address: string): RefusedRange | undefined {
  const family = isIP(address) === 4 ? "ipv4" : "ipv6";
  if (family === "ipv6" && publicAnycast.check(address, family)) return undefined;
  const isIpv4 = family === "ipv4" || isTranslated(address);
  if (!(isIpv4 ? anyRefusedIpv4 : anyRefusedIpv6).check(address, family)) return undefined;
  return (isIpv4 ? refusedIpv4 : refusedIpv6).find(({ list }) => list.check(address, family));
}

function isTranslated(address: string): boolean {
  return isIP(address) === 6 && translator.check(address, "ipv6");
}

function range(network: string, kind: string, name: string): RefusedRange {
  return { network, kind, name, list: blockList(network) };
}

/** Makes a list of networks. An IPv4 network also includes the IPv6 addresses that the public translator maps to it. */
function blockList(...networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    if (isIP(address) === 6) list.addSubnet(address, Number(prefix), "ipv6");
    else {
      list.addSubnet(address, Number(prefix), "ipv4");
      list.addSubnet(`64:ff9b::${address}`, 96 + Number(prefix), "ipv6");
    }
  }
  return list;
}

/** The addresses of `localhost` (RFC 6761). DNS is never asked for that name, because its answer could be any address. */
export const loopbackAddresses: readonly string[] = ["127.0.0.1", "::1"];

/** Tells whether a host (as `URL.hostname` gives it) is one of the names that mean this machine. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

/** Returns a URL's host if it is an IP address (without brackets); undefined if it is a name. */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  // The URL parser has already turned every spelling of an IPv4 address into the dotted one.
  return /^\d+\.\d+\.\d+\.\d+$/.test(hostname) ? hostname : undefined;
}

/** Returns the port that a URL leads to. */
export function portOf({ port, protocol }: URL): number {
  if (port !== "") return Number(port);
  return protocol === "https:" ? 443 : 80;
}

/** How a name is looked up in DNS. */
interface ResolveOptions {
  readonly timeoutMs: number;
  /** The name servers, each as `address:port`. Undefined: those of the system. */
  readonly servers?: readonly string[] | undefined;
}

/** All addresses of a name, or why there are none. */
export type Resolution = { readonly addresses: readonly string[] } | ConnectFailure;

/**
 * Time limit of the first DNS query. Node's resolver (c-ares) doubles it for each repeat: two queries take 2.7 s, less than
 * the 3 s that a webhook has for DNS. So one lost packet does not fail an attempt.
 */
const FIRST_TRY_TIMEOUT_MS = 900;
/** Maximum DNS queries for the addresses of one family. A webhook's 3 s are over during the third. */
const MAX_TRIES = 3;

/**
 * Looks up all addresses of a name, IPv4 first: if a receiver has both families, its IPv4 address is the more widely used.
 *
 * Apart from loopback names, asks DNS only, and does not read `/etc/hosts`. The system's look-up, which does, runs on
 * Node's few threads: names whose servers never answer would delay all file access and all other look-ups of the process.
 * Never throws.
 */
export async function resolveName(name: string, { timeoutMs, servers }: ResolveOptions): Promise<Resolution> {
  if (isLoopbackName(name)) return { addresses: loopbackAddresses };
  // A resolver per name: it can be cancelled separately, and uses separate ports.
  const resolver = new Resolver({ timeout: FIRST_TRY_TIMEOUT_MS, tries: MAX_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    resolver.cancel();
  }, timeoutMs);
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  clearTimeout(timer);
  const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (addresses.length > 0) return { addresses };
  return explain(
    name,
    answers.flatMap((answer) => (answer.status === "rejected" ? [codeOf(answer.reason)] : [])),
    isLate,
  );
}

/**
 * Looks up all addresses of a name as other programs on this machine do, `/etc/hosts` included. For names that the operator
 * has configured. Never throws.
 */
export async function lookUpLikeSystem(name: string, timeoutMs: number): Promise<Resolution> {
  const waitEnd = new AbortController();
  const found = lookup(name, { all: true, order: "ipv4first" }).then(
    (answers): Resolution => ({ addresses: answers.map(({ address }) => address) }),
    (error: unknown) => explain(name, [codeOf(error)], false),
  );
  // Gives up after the time limit. If `found` comes first, the wait is aborted, and its result does not matter.
  const over = wait(timeoutMs, undefined, { signal: waitEnd.signal, ref: false }).then(
    () => explain(name, [], true),
    () => found,
  );
  const answer = await Promise.race([found, over]);
  // Ends the timer of `over`.
  waitEnd.abort();
  return answer;
}

/** Explains why a look-up found no address. @param codes the errors of its queries @param isLate whether time ran out */
function explain(name: string, codes: readonly string[], isLate: boolean): ConnectFailure {
  if (isLate || codes.includes("ETIMEOUT")) {
    return describeFailure("dns_timeout", `DNS did not answer in time for ${name}.`);
  }
  if (codes.every((code) => code === "ENOTFOUND")) return describeFailure("dns", `${name} does not exist in DNS.`);
  if (codes.every((code) => code === "ENODATA" || code === "ENOTFOUND")) {
    return describeFailure("dns", `${name} has no address.`);
  }
  return describeFailure("dns", `DNS could not answer for ${name} (${codes.join(", ")}).`);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}
