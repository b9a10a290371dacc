/** HMAC-SHA256 of `content` with the text of `secret` as its key, in hexadecimal. */
export async function hmacHex(secret: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Whether two lists of signatures have one in common. Every pair is compared to its last digit, so that the time it takes
 * tells nothing of how near a guess came.
 */
export function haveOneInCommon(given: readonly string[], expected: readonly string[]): boolean {
  let found = 0;
  for (const one of given) {
    for (const other of expected) found |= areEqual(one, other);
  }
  return found === 1;
}

/** 1 or 0. The lengths are no secret. */
function areEqual(one: string, other: string): 0 | 1 {
  if (one.length !== other.length) return 0;
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0 ? 1 : 0;
}
