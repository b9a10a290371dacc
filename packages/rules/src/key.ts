import { errorMessage, type MessageArguments } from "@bikeshare/contract/pure";
import { ServiceError, serviceError } from "./service-error.ts";

/* API keys: their form, the `Authorization` header that carries them, and the errors of requests without a working key. */

/** The digits of base 62, in the order of their bytes: texts of the same length sort as their numbers do. */
export const BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Returns an integer as `length` digits of base 62, with leading zeros. */
export function toBase62(value: number, length: number): string {
  let digits = "";
  for (let rest = value; digits.length < length; rest = Math.floor(rest / 62)) {
    digits = BASE_62.charAt(rest % 62) + digits;
  }
  return digits;
}

/** The kind of a key: `live` of a partner, `test` of a sandbox, or `operator` for everything under /operator. */
export type KeyKind = "live" | "test" | "operator";

/** 34 characters of base 62 are 202 bits, which cannot be guessed. */
export const KEY_RANDOM_LENGTH = 34;
/** Six characters of base 62 hold any CRC-32. */
const CHECKSUM_LENGTH = 6;
const KEY_FORM = new RegExp(`^bss_(live|test|operator)_[0-9A-Za-z]{${KEY_RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** Returns the prefix of keys of a kind. */
export function keyPrefix(kind: KeyKind): string {
  return `bss_${kind}_`;
}

/** Returns a key: `bss_<kind>_`, 34 characters of base 62 and 6 of checksum. */
export function keyOf(kind: KeyKind, random: string): string {
  const body = keyPrefix(kind) + random;
  return body + toBase62(crc32(body), CHECKSUM_LENGTH);
}

/**
 * Tells whether a text has the form and the checksum of a key. So a mistyped or truncated key is rejected without a query of
 * the database.
 */
export function isWellFormedKey(text: string): boolean {
  return KEY_FORM.test(text) && text.endsWith(toBase62(crc32(text.slice(0, -CHECKSUM_LENGTH)), CHECKSUM_LENGTH));
}

/** The reversed polynomial of CRC-32, as in zlib. */
const CRC32_POLYNOMIAL = 0xedb88320;

/** Returns the CRC-32 of ASCII characters. It is written here because browsers have no function for it. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? CRC32_POLYNOMIAL : 0);
  }
  return ~crc >>> 0;
}

/** Returns the key in an `Authorization` header; undefined if the header is not `Bearer`, one space and a key. */
export function bearerKey(header: string): string | undefined {
  return /^bearer ([\x21-\x7e]+)$/i.exec(header)?.[1];
}

/** Returns the error for a request without credentials. */
export function missingKey(): ServiceError {
  return serviceError("unauthorized", "missing", {}, { headers: { "www-authenticate": "Bearer" } });
}

/** Returns the error for a key that does not work. */
export function invalidKey(...message: MessageArguments<"unauthorized">): ServiceError {
  const headers = { "www-authenticate": `Bearer error="invalid_token"` };
  return new ServiceError("unauthorized", errorMessage("unauthorized", ...message), { headers });
}

/**
 * Returns the error for an `Authorization` header that cannot contain one of our keys. Undefined: it may contain one, so the
 * key must be looked up.
 */
export function malformedKey(header: string): ServiceError | undefined {
  const key = bearerKey(header);
  if (key !== undefined) return isWellFormedKey(key) ? undefined : invalidKey("malformedKey");
  return invalidKey(bearerIssue(header));
}

/** Returns the issue with an `Authorization` header that contains no key: a message of `unauthorized`. */
export function bearerIssue(header: string): "missingSpace" | "notOneKey" | "notBearer" {
  if (/^bearer\S/i.test(header)) return "missingSpace";
  return /^bearer( |$)/i.test(header) ? "notOneKey" : "notBearer";
}

/** Returns the error for a key without the scope that an endpoint requires. */
export function missingScope(scope: string): ServiceError {
  const headers = { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` };
  return serviceError("forbidden", "missingScope", { scope }, { headers });
}

/**
 * Returns the scope that an unknown path requires. Below /operator, /v1 and /sandbox/v1 (or any other version) only a caller
 * with a key learns that the path is unknown.
 */
export function scopeOfPath(path: string): "operator" | "any" | "none" {
  if (/^\/operator([/?]|$)/.test(path)) return "operator";
  return /^\/(sandbox\/)?v\d+([/?]|$)/.test(path) ? "any" : "none";
}

/** Returns the status of a known key at an instant. @param now milliseconds since 1970 */
export function keyStatus(
  key: { readonly expires_at: Date | null; readonly revoked_at: Date | null },
  now: number,
): "active" | "expired" | "revoked" {
  // `revoked_at` of a rotated key may lie in the future: the key works until then.
  if (key.revoked_at !== null && key.revoked_at.getTime() <= now) return "revoked";
  if (key.expires_at !== null && key.expires_at.getTime() <= now) return "expired";
  return "active";
}
