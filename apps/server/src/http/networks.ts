import { BlockList, isIP } from "node:net";

/**
 * Reads a comma-separated list of IP addresses and networks, such as `10.0.0.0/8, ::1`.
 * @throws Error naming the part that is neither
 */
export function parseNetworks(text: string): string[] {
  const networks = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  for (const network of networks) {
    const [address = "", prefix, ...rest] = network.split("/");
    const bits = isIP(address) === 4 ? 32 : 128;
    const prefixFits = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
    if (isIP(address) === 0 || !prefixFits || rest.length > 0) {
      throw new Error(`"${network}" is neither an IP address nor a network such as 10.0.0.0/8`);
    }
  }
  return networks;
}

/** Whether an address lies in one of the networks (as `parseNetworks` gives them). */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? "ipv4" : "ipv6");
  };
}

/** Whether an address is this machine's own loopback, IPv4 inside IPv6 included. */
export const isLoopback = createNetworkCheck(["127.0.0.0/8", "::1", "::ffff:127.0.0.0/104"]);
