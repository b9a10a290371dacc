import { createHash } from "node:crypto";
import type { DocumentReader } from "./document-reader.ts";
import type { DocumentName, Documents } from "./documents.ts";
import type { FeedClient, Validators } from "./feed-client.ts";
import { failure } from "./source.ts";

/** The newest answer of one feed. */
interface Answer {
  readonly address: string;
  readonly validators: Validators;
  readonly hash: string;
  /** Before this instant the feed has nothing new, as it says itself. */
  readonly changesAt: number;
}

/** What a feed says now, and where. */
interface NewAnswer<Name extends DocumentName> {
  readonly content: Documents[Name];
  readonly url: URL;
}

/** What the feeds of a source answered last, so that they are asked only for what changed since. */
export interface Answers {
  /**
   * Asks the first of the addresses that answers, and reads what it says.
   * @param now milliseconds since 1970
   * @returns undefined when the feed is as it was
   * @throws FeedFailure when no address answers with what can be read
   */
  ask<Name extends DocumentName>(
    feed: Name,
    addresses: readonly URL[],
    now: number,
  ): Promise<NewAnswer<Name> | undefined>;
  /** Whether the feed said that it has nothing new before a later instant. */
  isResting(feed: DocumentName, now: number): boolean;
  /** Whether the feed has ever answered. */
  has(feed: DocumentName): boolean;
  /** Forgets answers that were not committed. */
  discard(): void;
  /** Counts new answers as known. */
  commit(): void;
  /** Forgets all answers, so that every feed is got whole again. */
  reset(): void;
}

export function createAnswers(client: FeedClient, reader: DocumentReader, signal: AbortSignal): Answers {
  const known = new Map<DocumentName, Answer>();
  const fresh = new Map<DocumentName, Answer>();

  async function askOne<Name extends DocumentName>(feed: Name, address: URL, now: number) {
    const before = known.get(feed);
    const held = before?.address === address.href ? before : undefined;
    const { url, bytes, validators } = await client.get(address, held?.validators);
    if (bytes === undefined) return undefined;
    const hash = createHash("sha256").update(bytes).digest("base64");
    if (before !== undefined && hash === before.hash) {
      fresh.set(feed, { ...before, address: address.href, validators });
      return undefined;
    }
    const { content, changesAt } = await reader.read(feed, bytes, now);
    fresh.set(feed, { address: address.href, validators, hash, changesAt });
    return { content, url };
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
          if (signal.aborted) break;
        }
      }
      throw failure(feed, first);
    },
    isResting: (feed, now) => now < (known.get(feed)?.changesAt ?? now),
    has: (feed) => known.has(feed) || fresh.has(feed),
    discard: () => fresh.clear(),
    commit() {
      for (const [feed, answer] of fresh) known.set(feed, answer);
      fresh.clear();
    },
    reset() {
      known.clear();
      fresh.clear();
    },
  };
}
