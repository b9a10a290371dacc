import { isWellFormedKey, type RateLimiter } from "@bikeshare/rules";
import type { KeyCache } from "../partners/keys/key-cache.ts";
import type { CompromisedIn, RefusedRequests } from "./refused-requests.ts";
import { countedAddress } from "./transport.ts";

export interface CompromisedKeysOptions {
  readonly keys: KeyCache;
  /** Counts, by address, the keys that were sent in a wrong place. */
  readonly limiter: RateLimiter;
  readonly refusedRequests: Pick<RefusedRequests, "compromised">;
  /** Records that others may have read a key. @returns whether this was the first time */
  readonly markCompromised: (key: string, where: string) => Promise<boolean>;
  readonly onFailed: (error: unknown) => void;
}

/** Keys in a request that are looked up. An honest request carries one. */
const MAX_KEYS = 3;
/** Requests of an address in any 60 s whose keys are looked up; the others are refused without a look-up. */
const MAX_REQUESTS_PER_MINUTE = 30;

/** The places where a key was exposed, as the audit log names them. */
const AUDIT_NAMES: Readonly<Record<CompromisedIn, string>> = { url: "query string", plain_http: "plain HTTP" };

/**
 * Marks keys as compromised that a request carried where others may have read them. The request is refused in any case,
 * so an unavailable database changes nothing. Only an existing key that is not yet marked costs more than a look-up.
 */
export async function markCompromisedKeys(
  found: readonly string[],
  where: CompromisedIn,
  address: string,
  { keys, limiter, refusedRequests, markCompromised, onFailed }: CompromisedKeysOptions,
): Promise<void> {
  if (!(await limiter.take(countedAddress(address), MAX_REQUESTS_PER_MINUTE)).allowed) return;
  for (const presented of found) {
    try {
      const key = keys.get(presented) ?? (await keys.load(presented));
      if (key === undefined || key === "unknown" || key.compromised_at !== null) continue;
      if (await markCompromised(presented, AUDIT_NAMES[where])) refusedRequests.compromised(key.id, where, address);
    } catch (error) {
      onFailed(error);
    }
  }
}

/** Returns the keys in a text, each once, up to a limit. */
export function keysIn(text: string): string[] {
  if (!text.includes("bss_")) return [];
  const found = new Set<string>();
  for (const [candidate] of text.matchAll(/bss_(?:live|test|operator)_[0-9A-Za-z]{40}/g)) {
    if (isWellFormedKey(candidate)) found.add(candidate);
    if (found.size === MAX_KEYS) break;
  }
  return [...found];
}

/** Returns the keys in a URL, however its characters are encoded. */
export function keysInUrl(url: string): string[] {
  if (url.includes("%")) {
    return keysIn(url.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))));
  }
  return url.includes("bss_") ? keysIn(url) : [];
}
