import { hash } from "node:crypto";
import type { KeyRow } from "./service.ts";

/** The keys that requests bring, kept in memory for as long as their revocation would be heard of. */
export interface KeyCache {
  /** The key when it is at hand; undefined when it must be looked up. */
  get(presented: string): KeyRow | undefined;
  /** Looks a key up and keeps it; undefined when there is no such key. */
  load(presented: string): Promise<KeyRow | undefined>;
  /** To be called when any key changed, or when that may have gone unheard. */
  clear(): void;
}

export interface KeyCacheOptions {
  readonly find: (presented: string) => Promise<KeyRow | undefined>;
  /** Whether changes are being heard of at present; while not, every request looks its key up. */
  readonly listening: () => boolean;
  /** Keys at most, about 1 kB each; past that, those kept longest are looked up again. */
  readonly capacity?: number;
}

export function createKeyCache({ find, listening, capacity = 10_000 }: KeyCacheOptions): KeyCache {
  // By digest: a dump of the memory shows no key.
  const kept = new Map<string, KeyRow>();
  let generation = 0;
  const digest = (presented: string) => hash("sha256", presented, "base64url");
  return {
    get: (presented) => (listening() ? kept.get(digest(presented)) : undefined),
    async load(presented) {
      const before = generation;
      const key = await find(presented);
      // What was read before a change was heard of must not be kept after it.
      if (key !== undefined && before === generation && listening()) {
        const oldest = kept.keys().next().value;
        if (kept.size >= capacity && oldest !== undefined) kept.delete(oldest);
        kept.set(digest(presented), key);
      }
      return key;
    },
    clear() {
      generation++;
      kept.clear();
    },
  };
}
