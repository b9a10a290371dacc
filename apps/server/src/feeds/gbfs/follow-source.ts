import { discoveredFeeds } from "./discovery.ts";
import { FeedFailure } from "./feed.ts";
import { createAnswers } from "./follow-answers.ts";
import type { FetchLimits } from "./http.ts";
import { addresses, type GbfsSource } from "./source.ts";

/** A source that is asked again and again, and gives only what changed. */
export interface FollowedSource extends GbfsSource {
  /**
   * Begins a round. Gets the list of feeds where it may have changed.
   * @param now milliseconds since 1970
   * @returns why the list could not be got, where an older one serves
   * @throws FeedFailure when there is no list yet and none can be got
   */
  begin(now: number): Promise<FeedFailure | undefined>;
  /** Ends a round: what it gave counts as known from now on, except of the feeds named. Not called: nothing does. */
  commit(failed: ReadonlySet<string>): void;
}

/** Opens the `gbfs.json` at an address to be followed; fetches nothing yet. */
export function followSource(location: URL, limits: FetchLimits): FollowedSource {
  const answers = createAnswers(limits);
  let list: { readonly feeds: ReadonlyMap<string, string>; readonly base: URL } | undefined;
  let failedBefore = false;
  let now = 0;

  async function refreshList(): Promise<void> {
    const found = await answers.ask("gbfs", [location], now);
    if (found === undefined) return;
    const feeds = discoveredFeeds(found.document);
    if (!feeds) throw new FeedFailure("gbfs", `there is no list of feeds at ${found.url.href}`);
    list = { feeds, base: found.url };
  }

  return {
    async begin(at) {
      now = at;
      answers.forget();
      // When a feed failed it may have moved, whatever the list said about its own age.
      if (list !== undefined && !failedBefore && answers.isResting("gbfs", now)) return undefined;
      try {
        await refreshList();
        return undefined;
      } catch (error) {
        if (list === undefined || !(error instanceof FeedFailure)) throw error;
        return error;
      }
    },
    async document(feed) {
      const listed = list?.feeds.get(feed);
      if (list === undefined || listed === undefined) return undefined;
      // It is asked for after the feed that took its place had nothing new, which was the answer.
      const isReplaced = feed === "free_bike_status" && list.feeds.has("vehicle_status");
      if ((isReplaced && answers.has("vehicle_status")) || answers.isResting(feed, now)) return undefined;
      return (await answers.ask(feed, addresses(listed, feed, list.base), now))?.document;
    },
    commit(failed) {
      failedBefore = failed.size > 0;
      answers.commit(failed);
    },
  };
}
