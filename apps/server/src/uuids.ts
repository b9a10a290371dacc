import { hash } from "node:crypto";

type RandomBytes = (bytes: number) => Uint8Array;

/** Returns a random UUID (version 4). */
export function randomUuid(randomBytes: RandomBytes): string {
  return uuidOf(Buffer.from(randomBytes(16)), 4);
}

/** Returns the UUID of a name within a namespace (version 5). The same name always has the same UUID. */
export function namedUuid(namespace: string, name: string): string {
  const bytes = Buffer.concat([Buffer.from(namespace.replaceAll("-", ""), "hex"), Buffer.from(name)]);
  return uuidOf(Buffer.from(hash("sha1", bytes, "buffer")), 5);
}

/** Returns a UUID that sorts by the time of its creation (version 7). @param at milliseconds since 1970 */
export function uuidOfTime(at: number, randomBytes: RandomBytes): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(at, 0, 6);
  bytes.set(randomBytes(10), 6);
  return uuidOf(bytes, 7);
}

/** Returns the UUID of 16 bytes. Overwrites some of the bits with the version and the variant (RFC 9562). */
function uuidOf(bytes: Buffer, version: number): string {
  bytes.writeUInt8((version << 4) | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  const hex = bytes.toString("hex", 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
