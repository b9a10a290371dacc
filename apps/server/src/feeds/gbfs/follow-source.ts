import { createHash } from "node:crypto";
import type { DiscoveredFeeds } from "./discovery.ts";
import { createDocumentReader, type DocumentReader } from "./document-reader.ts";
import type { DocumentName, Documents } from "./documents.ts";
import { createFeedClient, type FetchOptions, type FeedClient, type Validators } from "./feed-client.ts";
import { type FeedHealth, createFeedHealths, type FeedHealths } from "./feed-health.rules.ts";
import { FeedFailure } from "./feed.ts";
import { feedAddresses, type GbfsSource, failure } from "./source.ts";

/** A source that is asked again and again, and gives only what changed. */
export interface FollowedSource extends GbfsSource {
  /**
   * Begins a round. Gets the list of feeds where it may have changed.
   * @param now milliseconds since 1970
   */
  begin(now: number): Promise<void>;
  /** Ends a round: what it gave counts as known from now on. Not called: nothing does, and all of it is got again. */
  commit(): void;
  /** Forgets what the feeds said, so that all are got whole in the next round. */
  reset(): void;
  /** How each feed does that the source has. */
  health(): ReadonlyMap<DocumentName, FeedHealth>;
  /** Gives back what reading took, until there is more to read. */
  release(): Promise<void>;
}

/** How often a source is looked at, and what stands in for the world in tests. */
export interface FollowSourceOptions extends FetchOptions {
  readonly every: number;
  readonly signal: AbortSignal;
}

/** Opens the `gbfs.json` at an address to be followed; fetches nothing yet. */
export function followSource(location: URL, options: FollowSourceOptions): FollowedSource {
  const { every, signal } = options;
  const reader = createDocumentReader();
  const answers = createAnswers(createFeedClient(location, options), reader, signal);
  const healths = createFeedHealths(every);
  let list: { readonly feeds: DiscoveredFeeds; readonly base: URL } | undefined;
  let now = 0;

  const ask = askKeepingBook(answers, healths, signal);

  async function refreshList(): Promise<void> {
    const found = await ask("gbfs", [location], now);
    if (found === undefined) return;
    const { content: feeds, url: base } = found;
    list = { feeds, base };
    healths.keep((feed) => feed === "gbfs" || feeds.has(feed));
  }

  return {
    async begin(at) {
      now = at;
      answers.discard();
      healths.begin(now);
      if (healths.isWaiting("gbfs")) return;
      // A feed that failed may have moved, whatever the list said about its own age.
      if (list !== undefined && !healths.hasRetries() && answers.isResting("gbfs", now)) return;
      try {
        await refreshList();
      } catch (error) {
        if (!(error instanceof FeedFailure)) throw error;
      }
    },
    async read<Name extends DocumentName>(feed: Name): Promise<Documents[Name] | undefined> {
      const listed = list?.feeds.get(feed);
      if (list === undefined || listed === undefined) return undefined;
      // It is asked for after the feed that took its place had nothing new, which was the answer.
      const isReplaced = feed === "free_bike_status" && list.feeds.has("vehicle_status");
      if (isReplaced && answers.has("vehicle_status")) return undefined;
      if (healths.isWaiting(feed) || answers.isResting(feed, now)) return undefined;
      return (await ask(feed, feedAddresses(listed, feed, list.base), now))?.content;
    },
    commit() {
      answers.commit();
      healths.commit();
    },
    reset: () => answers.reset(),
    health: () => healths.all(),
    release: () => reader.release(),
  };
}

/** Asks feeds, and keeps book of how they do. The function throws FeedFailure. */
function askKeepingBook(answers: Answers, healths: FeedHealths, signal: AbortSignal): Answers["ask"] {
  return async (feed, addresses, now) => {
    try {
      const answer = await answers.ask(feed, addresses, now);
      healths.succeeded(feed);
      return answer;
    } catch (error) {
      // What we gave up ourselves says nothing about the feed.
      if (error instanceof FeedFailure && !signal.aborted) healths.failed(error, feed);
      throw error;
    }
  };
}

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
interface Answers {
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

function createAnswers(client: FeedClient, reader: DocumentReader, signal: AbortSignal): Answers {
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
