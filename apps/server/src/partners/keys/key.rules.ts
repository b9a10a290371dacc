import { BASE_62, KEY_RANDOM_LENGTH, type KeyKind, keyOf } from "@bikeshare/rules";

/**
 * Makes a key: `bss_<kind>_`, 34 random characters and 6 of checksum.
 * @param randomBytes gives the asked number of bytes, fit for secrets
 */
export function makeKey(kind: KeyKind, randomBytes: (bytes: number) => Uint8Array): string {
  let random = "";
  while (random.length < KEY_RANDOM_LENGTH) {
    for (const byte of randomBytes(KEY_RANDOM_LENGTH)) {
      // 248 = 4 × 62: bytes above it would make the first characters of the alphabet likelier.
      if (byte < 248 && random.length < KEY_RANDOM_LENGTH) random += BASE_62.charAt(byte % 62);
    }
  }
  return keyOf(kind, random);
}

/**
 * The default limit of an operator's key in any 60 s. The key feeds the service with batches. Too low: a busy city's
 * backend must ask for more. Too high: a faulty backend is noticed later.
 */
const OPERATOR_RATE_LIMIT = 6000;

/** Requests that a key may make in any 60 s. @param fallback for partners' keys without a number of their own */
export function effectiveRateLimit(
  key: { readonly rate_limit: number | null; readonly partner_id: string | null },
  fallback: number,
): number {
  return key.rate_limit ?? (key.partner_id === null ? OPERATOR_RATE_LIMIT : fallback);
}
