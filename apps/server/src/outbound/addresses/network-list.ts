import { BlockList, isIP } from "node:net";

/** ::ffff:0:0/96: how an IPv6 socket writes IPv4 addresses (RFC 4291). */
const mappedIpv4 = new BlockList();
mappedIpv4.addSubnet("::ffff:0:0", 96, "ipv6");

/** Addresses that a list remembers: more than call at a time, some 100 bytes each. */
const MAX_KNOWN = 1_000;

/** IP addresses and networks. An IPv4 address and its mapped form (`::ffff:10.0.0.1`) are one address. */
export class NetworkList {
  /** The networks as written, such as `10.0.0.0/8` and `::1`. Bits behind the prefix are ignored. */
  readonly networks: readonly string[];
  // In one list for both families `::/8` would include every IPv4 address, by its mapped form.
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
    const prefix = prefixText === undefined ? bits : Number(/^\d{1,3}$/.test(prefixText) ? prefixText : Number.NaN);
    if (family === 0 || address.includes("%") || !(prefix <= bits) || rest.length > 0) {
      throw new Error(`"${network}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
    if (family === 4) this.#ipv4.addSubnet(address, prefix, "ipv4");
    else if (prefix >= 96 && mappedIpv4.check(address, "ipv6")) this.#ipv4.addSubnet(address, prefix, "ipv6");
    else this.#ipv6.addSubnet(address, prefix, "ipv6");
  }
}

/**
 * Reads a comma-separated list of IP addresses and networks, such as `10.0.0.0/8, ::1`.
 * @throws Error naming the part that is neither
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
