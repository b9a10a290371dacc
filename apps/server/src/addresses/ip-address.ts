import { isIPv4, isIPv6 } from "node:net";

/** An IP address as the number it is, so that ranges are compared and not spelled. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly value: bigint;
}

/** A network as its first and last address, both inside. */
export interface IpNetwork {
  readonly family: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

const bitsOf = { 4: 32n, 6: 128n } as const;

/** ::ffff:0:0/96: an IPv4 address as an IPv6 socket sees it (RFC 4291). */
const mappedPrefix = 0xffffn;

/**
 * Reads an IPv4 address in its one dotted form or an IPv6 address in any of its forms.
 * @returns null for everything else: names, other spellings of IPv4, addresses with a zone (`fe80::1%eth0`)
 */
export function parseAddress(text: string): IpAddress | null {
  if (isIPv4(text)) return { family: 4, value: readV4(text) };
  if (isIPv6(text) && !text.includes("%")) return { family: 6, value: readV6(text) };
  return null;
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8` or a single address; bits behind the prefix do not count.
 * @throws Error when it is neither
 */
export function parseNetwork(text: string): IpNetwork {
  const [address = "", prefix, ...rest] = text.split("/");
  const parsed = parseAddress(address);
  const bits = parsed === null ? 0n : bitsOf[parsed.family];
  const length = prefix === undefined ? bits : BigInt(/^\d{1,3}$/.test(prefix) ? prefix : -1);
  if (parsed === null || length < 0n || length > bits || rest.length > 0) {
    throw new Error(`"${text}" is neither an IP address nor a network such as 10.0.0.0/8`);
  }
  const behind = bits - length;
  const first = (parsed.value >> behind) << behind;
  return { family: parsed.family, first, last: first + (1n << behind) - 1n };
}

/** Whether an address lies in a network. An IPv4 address and its mapped form are two addresses here. */
export function isInNetwork(network: IpNetwork, address: IpAddress): boolean {
  return address.family === network.family && address.value >= network.first && address.value <= network.last;
}

/** The IPv4 address that a mapped one (`::ffff:127.0.0.1`) stands for; every other address as it is. */
export function unmapped(address: IpAddress): IpAddress {
  return address.family === 6 && address.value >> 32n === mappedPrefix ? lowestV4(address) : address;
}

/** The last 32 bits of an IPv6 address as an IPv4 address. */
export function lowestV4(address: IpAddress): IpAddress {
  return { family: 4, value: address.value & 0xffff_ffffn };
}

/** An IPv4 address in its dotted form. */
export function formatV4({ value }: IpAddress): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

/** Whether two texts name the same address; IPv4 and its mapped form count as the same. */
export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [parseAddress(one), parseAddress(other)];
  if (first === null || second === null) return false;
  const [a, b] = [unmapped(first), unmapped(second)];
  return a.family === b.family && a.value === b.value;
}

function readV4(text: string): bigint {
  return text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

/** Takes what `isIPv6` has accepted, so only the value is left to find out. */
function readV6(text: string): bigint {
  const dotted = /\d+\.\d+\.\d+\.\d+$/.exec(text)?.[0];
  const hex = dotted === undefined ? text : text.slice(0, -dotted.length) + hexGroups(readV4(dotted));
  const [left = "", right] = hex.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function hexGroups(v4: bigint): string {
  return `${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
}
