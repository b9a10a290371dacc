import type { RateLimiter } from "@bikeshare/rules";
import type { KeyCache } from "../keys/key-cache.ts";
import { isWellFormedKey } from "../keys/key.ts";
import { countedAddress } from "./client-address.ts";
import type { ExposedIn, RefusedRequests } from "./refused-requests.ts";

export interface ExposedKeysOptions {
  readonly keys: KeyCache;
  /** Counts by address what was sent where no key belongs. */
  readonly limiter: RateLimiter;
  readonly refusals: Pick<RefusedRequests, "exposed">;
  /** Notes that others may have read a key. @returns whether this was the first time */
  readonly expose: (key: string, where: string) => Promise<boolean>;
  readonly onFailed: (error: unknown) => void;
}

/** Keys of a text that are looked at. An honest request brings one. */
const MAX_KEYS = 3;
/** Requests with such keys of an address in any 60 s whose keys are looked up: the rest are refused all the same. */
const MAX_REQUESTS_PER_MINUTE = 30;

/** How the audit log has where a key was seen. */
const PLACES: Readonly<Record<ExposedIn, string>> = { url: "query string", plain_http: "plain HTTP" };

/**
 * Marks keys as exposed that a request brought where others may have read them. The request is refused in any case,
 * so that a database that is away changes nothing. Only a key that we made, and that is not marked yet, costs more
 * than a look-up.
 */
export async function markExposedKeys(
  found: readonly string[],
  where: ExposedIn,
  address: string,
  { keys, limiter, refusals, expose, onFailed }: ExposedKeysOptions,
): Promise<void> {
  if (!(await limiter.take(countedAddress(address), MAX_REQUESTS_PER_MINUTE)).allowed) return;
  for (const presented of found) {
    try {
      const key = keys.get(presented) ?? (await keys.load(presented));
      if (key === undefined || key === "unknown" || key.compromised_at !== null) continue;
      if (await expose(presented, PLACES[where])) refusals.exposed(key.id, where, address);
    } catch (error) {
      onFailed(error);
    }
  }
}

/** The first of the keys that stand in a text, each once. None of them belongs into a URL or onto a plain connection. */
export function keysIn(text: string): string[] {
  const found = new Set<string>();
  for (const [candidate] of text.matchAll(/bss_(?:live|test|operator)_[0-9A-Za-z]{40}/g)) {
    if (isWellFormedKey(candidate)) found.add(candidate);
    if (found.size === MAX_KEYS) break;
  }
  return [...found];
}

/** The keys in a URL, however its characters are encoded. */
export function keysInUrl(url: string): string[] {
  if (url.includes("%")) {
    return keysIn(url.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))));
  }
  return url.includes("bss_") ? keysIn(url) : [];
}
