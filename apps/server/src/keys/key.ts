import { crc32 } from "node:zlib";

/** What a key may do: a partner's scopes, or everything under /operator. */
export type KeyKind = "live" | "test" | "operator";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 34 characters of base 62 are 202 bits: nobody guesses one. */
const RANDOM_LENGTH = 34;
/** Six characters of base 62 hold any CRC-32. */
const CHECKSUM_LENGTH = 6;
const SHAPE = /^bss_(live|test|operator)_[0-9A-Za-z]{40}$/;

/**
 * Makes a key: `bss_<kind>_`, 34 random characters and 6 of checksum.
 * @param randomBytes gives the asked number of bytes, fit for secrets
 */
export function makeKey(kind: KeyKind, randomBytes: (bytes: number) => Uint8Array): string {
  let random = "";
  while (random.length < RANDOM_LENGTH) {
    for (const byte of randomBytes(RANDOM_LENGTH)) {
      // 248 = 4 × 62: bytes above it would make the first characters of the alphabet likelier.
      if (byte < 248 && random.length < RANDOM_LENGTH) random += ALPHABET.charAt(byte % 62);
    }
  }
  const body = `bss_${kind}_${random}`;
  return body + checksum(body);
}

/**
 * Whether a text is a key that we may have made: its form and its checksum. Refuses a mistyped or cut key without
 * a look-up.
 */
export function isWellFormedKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return text.endsWith(checksum(body));
}

function checksum(body: string): string {
  let value = crc32(body);
  let digits = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET.charAt(value % 62) + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}

/**
 * Requests in any 60 s for an operator's key without a number of its own. It feeds the service, a batch a request:
 * lower and a busy city's backend must ask for more; higher and a backend gone wild is noticed later.
 */
const OPERATOR_RATE_LIMIT = 6000;

/** Requests that a key may make in any 60 s. @param fallback for partners' keys without a number of their own */
export function effectiveRateLimit(
  key: { readonly rate_limit: number | null; readonly partner_id: string | null },
  fallback: number,
): number {
  return key.rate_limit ?? (key.partner_id === null ? OPERATOR_RATE_LIMIT : fallback);
}
