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
