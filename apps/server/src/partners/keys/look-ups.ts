import { hash } from "node:crypto";
import type { Queryable } from "../../storage/db/database.ts";
import { hashKey } from "./key.rules.ts";
import { findKeysByHash, type KeyRow, type KeyUse, updateKeyUses } from "./queries.ts";

/*
 * The keys of requests, without a statement for each: a cache, look-ups that share a statement, and last uses that are
 * written together. `presented` is a key's text as a request brought it.
 *
 * A request's key is searched in the process's `KeyCache`. If it is not cached, `lookUpTogether` finds it by `keysFor`, in
 * one statement with the keys of other requests.
 */

/** The keys that requests carry, cached for up to a minute while notifications of changed keys arrive. */
export interface KeyCache {
  /** The key when it is cached, `unknown` when there is known to be none; undefined when it must be looked up. */
  get(presented: string): KeyRow | "unknown" | undefined;
  /** Looks a key up, and caches the result unless a key may have changed meanwhile; undefined when there is no such key. */
  load(presented: string): Promise<KeyRow | undefined>;
  /** Call it when a key has changed, or when a notification may have been missed. */
  clear(): void;
}

interface KeyCacheOptions {
  readonly find: (presented: string) => Promise<KeyRow | undefined>;
  /** Whether notifications arrive at present; while they do not, every request looks its key up. */
  readonly listening: () => boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Maximum number of cached keys, about 1 kB each, and of cached unknown keys. Above it the oldest are dropped. */
  readonly capacity?: number;
}

/**
 * After this time a key is looked up again even without a notification. A higher value lets a revoked key work longer when
 * notifications fail; a lower one costs look-ups for nothing.
 */
const MAX_AGE_MS = 60_000;

interface Kept {
  readonly key: KeyRow | "unknown";
  /** When it was looked up, in milliseconds since 1970. */
  readonly at: number;
}

/** Creates the cache in which a process looks up the keys of requests. */
export function createKeyCache({ find, listening, clock, capacity = 10_000 }: KeyCacheOptions): KeyCache {
  // By digest, so that a memory dump shows no key. Unknown keys are cached separately, so that invented ones cannot evict
  // real ones.
  const known = new Map<string, Kept>();
  const unknown = new Map<string, Kept>();
  /** Counts the calls of `clear`. */
  let generation = 0;
  const digest = (presented: string) => hash("sha256", presented, "base64url");
  const keep = (digested: string, key: KeyRow | "unknown") => {
    const kept = key === "unknown" ? unknown : known;
    // Deleted first, so that the entry becomes the newest.
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
      // A clock that was set back must not make an entry younger.
      return age >= 0 && age < MAX_AGE_MS ? kept.key : undefined;
    },
    async load(presented) {
      const before = generation;
      const key = await find(presented);
      // A result from before a change must not be cached after it.
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

/** A look-up that waits for the next statement. */
interface Waiting<Key, Found> {
  readonly key: Key;
  readonly resolve: (found: Found | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Limits the look-ups in one statement: as many as one round trip carries without delaying others. */
const MAX_BATCH = 500;

/**
 * Combines look-ups of API keys, or of sessions (console/session-cookie.ts), into batches: while a statement runs, new
 * look-ups wait for the next one, which covers all of them. However many unknown keys are tried, only one statement runs at
 * a time, and a valid key waits for at most two, unless more than `MAX_BATCH` look-ups wait.
 * @param findAll returns a result for each key, in the order of the keys
 */
export function lookUpTogether<Key, Found>(
  findAll: (keys: readonly Key[]) => Promise<readonly (Found | undefined)[]>,
): (key: Key) => Promise<Found | undefined> {
  let waiting: Waiting<Key, Found>[] = [];
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        const found = await findAll(batch.map(({ key }) => key));
        for (const [index, { resolve }] of batch.entries()) resolve(found[index]);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = undefined;
  }
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      running ??= run();
    });
}

/** Records when, for which path and from which address each key was last used, outside of the request's path. */
export interface LastUses {
  /** Notes a use, in memory. Only the latest use of each key is written. */
  note(use: KeyUse): void;
  /** Writes the records since the last call. A failure loses only these records. */
  flush(): Promise<void>;
}

/** @param write stores the noted uses, one for each key */
export function createLastUses(write: (uses: readonly KeyUse[]) => Promise<void>): LastUses {
  let noted = new Map<string, KeyUse>();
  return {
    note: (use) => void noted.set(`${use.systemId}\n${use.id}`, use),
    async flush() {
      if (noted.size === 0) return;
      const uses = [...noted.values()];
      noted = new Map();
      await write(uses);
    },
  };
}

/** Stores the latest use of keys, many at once: what `createLastUses` writes with. */
export const recordUses = updateKeyUses;

/** Returns the keys that requests brought, in their order; undefined for those that are not stored. */
export async function keysFor(
  { db }: { readonly db: Queryable },
  presented: readonly string[],
): Promise<readonly (KeyRow | undefined)[]> {
  const hashes = presented.map(hashKey);
  const found = new Map<string, KeyRow>();
  for (const { hash: hashed, ...key } of await findKeysByHash(db, hashes)) found.set(hex(hashed), key);
  return hashes.map((hashed) => found.get(hex(hashed)));
}

/** Returns the key that a request brought; undefined when it is not stored. */
export async function keyFor({ db }: { readonly db: Queryable }, presented: string): Promise<KeyRow | undefined> {
  return (await keysFor({ db }, [presented]))[0];
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
