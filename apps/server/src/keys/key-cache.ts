import { hash } from "node:crypto";
import type { KeyRow } from "./service.ts";

/** The keys that requests bring, kept in memory for as long as their revocation would be heard of. */
export interface KeyCache {
  /** The key when it is at hand, `unknown` when it is known that there is none; undefined when it must be looked up. */
  get(presented: string): KeyRow | "unknown" | undefined;
  /** Looks a key up and keeps the answer; undefined when there is no such key. */
  load(presented: string): Promise<KeyRow | undefined>;
  /** To be called when any key changed, or when that may have gone unheard. */
  clear(): void;
}

export interface KeyCacheOptions {
  readonly find: (presented: string) => Promise<KeyRow | undefined>;
  /** Whether changes are being heard of at present; while not, every request looks its key up. */
  readonly listening: () => boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Keys at most, about 1 kB each, and as many that are unknown; past that, those kept longest are looked up again. */
  readonly capacity?: number;
}

/**
 * Milliseconds after which a key is looked up again though no change was told: the floor under everything that tells
 * of changes. Longer, and where that fails a revoked key works on for longer; shorter costs look-ups for nothing.
 */
const MAX_AGE = 60_000;

interface Kept {
  readonly key: KeyRow | "unknown";
  readonly at: number;
}

export function createKeyCache({ find, listening, clock, capacity = 10_000 }: KeyCacheOptions): KeyCache {
  // By digest: a dump of the memory shows no key. Apart, so that made-up keys push out no good one.
  const known = new Map<string, Kept>();
  const unknown = new Map<string, Kept>();
  let generation = 0;
  const digest = (presented: string) => hash("sha256", presented, "base64url");
  const keep = (digested: string, key: KeyRow | "unknown") => {
    const kept = key === "unknown" ? unknown : known;
    // Behind the others again, however long an older answer has been kept.
    kept.delete(digested);
    const oldest = kept.keys().next().value;
    if (kept.size >= capacity && oldest !== undefined) kept.delete(oldest);
    kept.set(digested, { key, at: clock() });
  };
  return {
    get(presented) {
      if (!listening()) return undefined;
      const digested = digest(presented);
      const kept = known.get(digested) ?? unknown.get(digested);
      if (kept === undefined) return undefined;
      const age = clock() - kept.at;
      // A clock that was set back must not make anything younger.
      return age >= 0 && age < MAX_AGE ? kept.key : undefined;
    },
    async load(presented) {
      const before = generation;
      const key = await find(presented);
      // What was read before a change was heard of must not be kept after it.
      if (before === generation && listening()) keep(digest(presented), key ?? "unknown");
      return key;
    },
    clear() {
      generation++;
      known.clear();
      unknown.clear();
    },
  };
}
