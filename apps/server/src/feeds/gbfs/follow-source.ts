import type { DiscoveredFeeds } from "./discovery.ts";
import { createDocumentReader } from "./document-reader.ts";
import type { DocumentName, Documents } from "./documents.ts";
import { createFeedClient, type FetchOptions } from "./feed-client.ts";
import type { FeedHealth } from "./feed-health.ts";
import { createFeedHealths, type FeedHealths } from "./feed-healths.ts";
import { FeedFailure } from "./feed.ts";
import { createAnswers, type Answers } from "./follow-answers.ts";
import { feedAddresses, type GbfsSource } from "./source.ts";

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
