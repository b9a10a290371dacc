import { hash } from "node:crypto";
import type { KeyAllowance, ShownAllowance } from "@bikeshare/contract/console";
import { BASE_62, KEY_RANDOM_LENGTH, type KeyKind, keyOf, keyStatus, RATE_WINDOW_MS } from "@bikeshare/rules";
import type { PartnerRow } from "../service.ts";
import type { KeyRow } from "./queries.ts";

/* Rules of API keys: how a key is made, its rate limit, and a partner's key allowance (docs/glossary.md#key-allowance). */

/**
 * Makes a key: `bss_<kind>_`, 34 random characters and 6 of checksum.
 * @param randomBytes gives the asked number of bytes, fit for secrets
 */
export function makeKey(kind: KeyKind, randomBytes: (bytes: number) => Uint8Array): string {
  let random = "";
  while (random.length < KEY_RANDOM_LENGTH) {
    for (const byte of randomBytes(KEY_RANDOM_LENGTH)) {
      // 248 = 4 × 62: bytes from 248 on would make the first characters of the alphabet likelier.
      if (byte < 248 && random.length < KEY_RANDOM_LENGTH) random += BASE_62.charAt(byte % 62);
    }
  }
  return keyOf(kind, random);
}

/** Returns the hash by which a key is stored and found. */
export function hashKey(key: string): Uint8Array {
  return hash("sha256", key, "buffer");
}

/**
 * The default limit of an operator's key in any 60 s. The key feeds the service with batches. Too low: a busy city's
 * backend must ask for more. Too high: a faulty backend is noticed later.
 */
const OPERATOR_RATE_LIMIT = 6000;

/**
 * Returns how many requests a key may make in any 60 s.
 * @param fallback the limit of a partner's key without its own limit
 */
export function effectiveRateLimit(
  key: { readonly rate_limit: number | null; readonly partner_id: string | null },
  fallback: number,
): number {
  return key.rate_limit ?? (key.partner_id === null ? OPERATOR_RATE_LIMIT : fallback);
}

/** The properties of a key that an allowance limits. */
export type BoundedKey = Pick<KeyRow, "scopes" | "rate_limit" | "created_at" | "expires_at">;

/** A bound of an allowance that a key exceeds. */
type Excess =
  | { readonly bound: "scopes"; readonly scope: string }
  | { readonly bound: "lifetime" }
  | { readonly bound: "keys" }
  | { readonly bound: "rate"; readonly left: number };

const DAY_MS = 86_400_000;

/**
 * Returns the first bound that a key exceeds; undefined: it is within the allowance.
 * @param others the older active keys that the partner's own people made
 */
export function excessOf(allowance: KeyAllowance, key: BoundedKey, others: readonly BoundedKey[]): Excess | undefined {
  const scope = key.scopes.find((each) => !allowance.scopes.some((allowed) => allowed === each));
  if (scope !== undefined) return { bound: "scopes", scope };
  const lifetime = (key.expires_at?.getTime() ?? Infinity) - key.created_at.getTime();
  if (lifetime <= 0 || lifetime > allowance.days * DAY_MS) return { bound: "lifetime" };
  if (others.length >= allowance.keys) return { bound: "keys" };
  const left = Math.max(0, allowance.rate_limit - rateOf(others));
  return rateOf([key]) > left ? { bound: "rate", left } : undefined;
}

/**
 * Tells whether a key would let a partner make more than twice the requests of its allowance in a window. Each key has its
 * own rate limit, and the requests of an ended key count until they have left the window. So keys that are made and revoked
 * one after the other would multiply the rate. Twice the rate allows a rotation, and an immediate new key in place of a
 * leaked one.
 * @param keys all keys of the partner, ended ones too; those that the operator made do not count
 */
export function isTooSoon(
  allowance: KeyAllowance,
  key: Pick<KeyRow, "rate_limit">,
  keys: readonly KeyRow[],
  now: number,
): boolean {
  const counting = keys.filter(
    ({ made_by_partner: isOwn, revoked_at, expires_at }) =>
      isOwn && [revoked_at, expires_at].every((end) => end === null || end.getTime() + RATE_WINDOW_MS > now),
  );
  return rateOf([...counting, key]) > 2 * allowance.rate_limit;
}

/** Returns the keys of a partner's own people that work, in the order of `keys`. */
export function ownKeysIn(keys: readonly KeyRow[], now: number): KeyRow[] {
  return keys.filter((key) => key.made_by_partner && keyStatus(key, now) === "active");
}

/** Returns an allowance, and the part of it that no key uses. */
export function whatIsLeft(allowance: KeyAllowance, keys: readonly KeyRow[], now: number): ShownAllowance {
  const own = ownKeysIn(keys, now);
  return {
    ...allowance,
    rate_limit_left: Math.max(0, allowance.rate_limit - rateOf(own)),
    keys_left: Math.max(0, allowance.keys - own.length),
  };
}

/**
 * Returns the ids of keys that a partner's own people made and that exceed its allowance, because the operator has lowered
 * the allowance since. When keys exceed it only together, the younger ones count as exceeding.
 * @param keys the oldest first
 */
export function exceedingKeys(
  partners: readonly Pick<PartnerRow, "id" | "key_allowance">[],
  keys: readonly KeyRow[],
  now: number,
): ReadonlySet<string> {
  const allowances = new Map(partners.map(({ id, key_allowance: allowance }) => [id, allowance]));
  const exceeding = new Set<string>();
  for (const [partnerId, own] of Map.groupBy(ownKeysIn(keys, now), ({ partner_id: id }) => id)) {
    // No partner has the id "": an operator key is never a partner's own.
    const allowance = allowances.get(partnerId ?? "") ?? null;
    for (const [index, key] of own.entries()) {
      if (allowance === null || excessOf(allowance, key, own.slice(0, index)) !== undefined) exceeding.add(key.id);
    }
  }
  return exceeding;
}

/**
 * Returns the requests in any 60 s of several keys together: infinitely many if one has no limit of its own, so that every
 * key within an allowance must have one.
 */
function rateOf(keys: readonly Pick<KeyRow, "rate_limit">[]): number {
  return keys.reduce((sum, { rate_limit: rate }) => sum + (rate ?? Infinity), 0);
}
