import { bytesOf, type RawBody } from "./raw-body.ts";

/**
 * Returns the bytes that are signed: the time, a dot and the body. They are a copy of the body, so that the verified bytes
 * are also those that are parsed, even if the caller's buffer changes in between.
 *
 * @param time unix seconds as written in the header
 */
export function signedContent(time: string, body: RawBody): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  if (typeof body === "string") return encoder.encode(`${time}.${body}`);
  const prefix = encoder.encode(`${time}.`);
  const bytes = bytesOf(body);
  const content = new Uint8Array(prefix.length + bytes.length);
  content.set(prefix);
  content.set(bytes, prefix.length);
  return content;
}

/** Returns the HMAC-SHA256 of `content` in hexadecimal. The key is the text of `secret`. */
export async function hmacHex(secret: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Tells whether a signature of the header is one of the expected ones. Every pair is compared in full, so that the time of
 * the comparison does not reveal how close a guess came.
 */
export function hasMatch(signatures: readonly string[], expected: readonly string[]): boolean {
  let found = 0;
  for (const signature of signatures) {
    for (const other of expected) found |= equalInConstantTime(signature, other);
  }
  return found === 1;
}

/** Returns 1 if the texts are equal, otherwise 0. Its time may depend on the lengths, which are not secret. */
function equalInConstantTime(one: string, other: string): 0 | 1 {
  if (one.length !== other.length) return 0;
  let difference = 0;
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0 ? 1 : 0;
}
