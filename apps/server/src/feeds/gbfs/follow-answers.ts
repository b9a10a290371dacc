import { createHash } from "node:crypto";
import { fetchBytes, parseJson, type FetchLimits, type Validators } from "./http.ts";
import { failure } from "./source.ts";
import { instantFrom, isObject, numberFrom } from "./values.ts";

/**
 * Milliseconds for which a feed's word that it will not change is believed at most. Higher and a feed that claims a
 * day hides its changes for a day; lower and feeds that ask for rest are asked all the same.
 */
const GREATEST_TTL = 10 * 60_000;

/** The newest answer of one feed. */
interface Answer {
  readonly address: string;
  readonly validators: Validators;
  readonly hash: string;
  /** Before this instant the feed has nothing new, as it says itself. */
  readonly dueAt: number;
}

/** What the feeds of a source answered last, so that they are asked only for what changed since. */
export interface Answers {
  /**
   * Asks the first of the addresses that answers.
   * @param now milliseconds since 1970
   * @returns undefined when the feed is as it was
   * @throws FeedFailure when no address answers
   */
  ask(
    feed: string,
    addresses: readonly URL[],
    now: number,
  ): Promise<{ readonly document: unknown; readonly url: URL } | undefined>;
  /** Whether the feed said that it has nothing new before a later instant. */
  isResting(feed: string, now: number): boolean;
  /** Whether the feed has ever answered. */
  has(feed: string): boolean;
  /** Forgets answers that were not committed. */
  forget(): void;
  /** Counts new answers as known, except of the feeds named. */
  commit(failed: ReadonlySet<string>): void;
}

export function createAnswers(limits: FetchLimits): Answers {
  const known = new Map<string, Answer>();
  const fresh = new Map<string, Answer>();

  async function askOne(feed: string, address: URL, now: number) {
    const before = known.get(feed);
    const held = before?.address === address.href ? before : undefined;
    const { url, bytes, validators } = await fetchBytes(address, limits, held?.validators);
    if (bytes === undefined) return undefined;
    const hash = createHash("sha256").update(bytes).digest("base64");
    if (before !== undefined && hash === before.hash) {
      fresh.set(feed, { ...before, address: address.href, validators });
      return undefined;
    }
    const document = parseJson(bytes);
    fresh.set(feed, { address: address.href, validators, hash, dueAt: nextChange(document, now) });
    return { document, url };
  }

  return {
    async ask(feed, addresses, now) {
      const last = known.get(feed)?.address;
      let first: unknown;
      // The one that answered last comes first: the others failed then, and may take their time to fail again.
      for (const address of addresses.toSorted((a, b) => Number(b.href === last) - Number(a.href === last))) {
        try {
          return await askOne(feed, address, now);
        } catch (error) {
          first ??= error;
          if (limits.signal?.aborted) break;
        }
      }
      throw failure(feed, first ?? new Error("its address cannot be fetched"));
    },
    isResting: (feed, now) => now < (known.get(feed)?.dueAt ?? now),
    has: (feed) => known.has(feed) || fresh.has(feed),
    forget: () => fresh.clear(),
    commit(failed) {
      for (const [feed, answer] of fresh) if (!failed.has(feed)) known.set(feed, answer);
    },
  };
}

/** When a feed may change next, by what it says of its own age and time to live; a clock that is ahead counts as ours. */
function nextChange(document: unknown, now: number): number {
  if (!isObject(document)) return now;
  const made = Math.min(instantFrom(document["last_updated"]) ?? now, now);
  const ttl = Math.max(0, numberFrom(document["ttl"]) ?? 0) * 1000;
  return made + Math.min(ttl, GREATEST_TTL);
}
