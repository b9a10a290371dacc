import ipaddr from "ipaddr.js";

/** An IP address as a number. Tests compute ranges with it, independently of the code that they test. */
export interface IpNumber {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** Returns the first and the last address of a network. */
export function ipRange(network: string): { readonly family: 4 | 6; readonly first: bigint; readonly last: bigint } {
  const [address, prefix] = ipaddr.parseCIDR(network);
  const family = address.kind() === "ipv4" ? 4 : 6;
  const value = BigInt(`0x${Buffer.from(address.toByteArray()).toString("hex")}`);
  const hostBits = BigInt((family === 4 ? 32 : 128) - prefix);
  const first = (value >> hostBits) << hostBits;
  return { family, first, last: first + (1n << hostBits) - 1n };
}

export function formatIp({ family, value }: IpNumber): string {
  const hex = value.toString(16).padStart(family === 4 ? 8 : 32, "0");
  return ipaddr.fromByteArray([...Buffer.from(hex, "hex")]).toString();
}
