import { createHash } from "node:crypto";
import type { DiscoveredFeeds } from "./discovery.ts";
import { createDocumentReader, type DocumentReader } from "./document-reader.ts";
import type { DocumentName, Documents } from "./documents.ts";
import { createFeedClient, type FetchOptions, type FeedClient, type Validators } from "./feed-client.ts";
import { type FeedHealth, createFeedHealths } from "./feed-health.rules.ts";
import { FeedFailure } from "./feed.ts";
import { feedAddresses, type GbfsSource, failure } from "./source.ts";

/** A source that is polled, and gives only what changed. */
export interface FollowedSource extends GbfsSource {
  /**
   * Begins a poll. Fetches the list of feeds where it may have changed.
   * @param now milliseconds since 1970
   */
  begin(now: number): Promise<void>;
  /** Marks what the poll gave as stored. Without it the next poll fetches the same again. */
  commit(): void;
  /** Forgets all responses, so that the next poll fetches every feed whole. */
  reset(): void;
  health(): ReadonlyMap<DocumentName, FeedHealth>;
  /** Frees the memory that reading took. */
  release(): Promise<void>;
}

export interface FollowSourceOptions extends FetchOptions {
  readonly intervalMs: number;
  readonly signal: AbortSignal;
}

/** Opens the `gbfs.json` at an address; fetches nothing yet. */
export function followSource(location: URL, options: FollowSourceOptions): FollowedSource {
  const { intervalMs, signal } = options;
  const reader = createDocumentReader();
  const responses = createResponses(createFeedClient(location, options), reader, signal);
  const healths = createFeedHealths(intervalMs);
  let list: { readonly feeds: DiscoveredFeeds; readonly base: URL } | undefined;
  let now = 0;

  const ask = askRecordingHealth(responses, healths, signal);

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
      responses.discard();
      healths.begin(now);
      if (healths.isWaiting("gbfs")) return;
      // A failed feed may have moved, so the list is fetched even where it is fresh.
      if (list !== undefined && !healths.hasRetries() && responses.isFresh("gbfs", now)) return;
      try {
        await refreshList();
      } catch (error) {
        if (!(error instanceof FeedFailure)) throw error;
      }
    },
    async read<Name extends DocumentName>(feed: Name): Promise<Documents[Name] | undefined> {
      const listed = list?.feeds.get(feed);
      if (list === undefined || listed === undefined) return undefined;
      // `vehicle_status` is asked first; once it has responded, the older feed adds nothing.
      const isReplaced = feed === "free_bike_status" && list.feeds.has("vehicle_status");
      if (isReplaced && responses.has("vehicle_status")) return undefined;
      if (healths.isWaiting(feed) || responses.isFresh(feed, now)) return undefined;
      return (await ask(feed, feedAddresses(listed, feed, list.base), now))?.content;
    },
    commit() {
      responses.commit();
      healths.commit();
    },
    reset: () => responses.reset(),
    health: () => healths.all(),
    release: () => reader.release(),
  };
}

function askRecordingHealth(
  responses: ReturnType<typeof createResponses>,
  healths: ReturnType<typeof createFeedHealths>,
  signal: AbortSignal,
): typeof responses.ask {
  return async (feed, addresses, at) => {
    try {
      const response = await responses.ask(feed, addresses, at);
      healths.succeeded(feed);
      return response;
    } catch (error) {
      // A request that we aborted says nothing about the feed.
      if (error instanceof FeedFailure && !signal.aborted) healths.failed(error, feed);
      throw error;
    }
  };
}

/** The last response of one feed. */
interface LastResponse {
  readonly address: string;
  readonly validators: Validators;
  readonly hash: string;
  /** Before this instant the feed has nothing new, as it says itself. */
  readonly changesAt: number;
}

/** The last response of each feed of a source, so that only changes since are fetched. */
function createResponses(client: FeedClient, reader: DocumentReader, signal: AbortSignal) {
  const known = new Map<DocumentName, LastResponse>();
  const fresh = new Map<DocumentName, LastResponse>();

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
    /**
     * Asks the first of the addresses that responds.
     * @returns undefined when the feed has not changed
     * @throws FeedFailure when no address responds with a document that can be read
     */
    async ask<Name extends DocumentName>(feed: Name, addresses: readonly URL[], now: number) {
      const last = known.get(feed)?.address;
      let first: unknown;
      // The address that responded last comes first, because the others may time out again.
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
    /** Whether the feed said that it does not change before a later instant. */
    isFresh: (feed: DocumentName, now: number) => now < (known.get(feed)?.changesAt ?? now),
    has: (feed: DocumentName) => known.has(feed) || fresh.has(feed),
    /** Forgets responses that were not committed. */
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
