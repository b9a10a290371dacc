import { createHash } from "node:crypto";
import { discoveredFeeds } from "./discovery.ts";
import { FeedFailure } from "./feed.ts";
import { fetchBytes, parseJson, type FetchLimits, type Validators } from "./http.ts";
import { addresses, failure, type GbfsSource } from "./source.ts";
import { instantFrom, isObject, numberFrom } from "./values.ts";

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

/** Opens the `gbfs.json` at an address to be followed; fetches nothing yet. */
export function followSource(location: URL, limits: FetchLimits): FollowedSource {
  const known = new Map<string, Answer>();
  const answered = new Map<string, Answer>();
  let list: { readonly feeds: ReadonlyMap<string, string>; readonly base: URL } | undefined;
  let failedBefore = false;
  let now = 0;

  /** The document at the first of the addresses that answers; undefined when it is as it was. */
  async function changed(feed: string, candidates: readonly URL[]): Promise<{ document: unknown; url: URL } | undefined> {
    const before = known.get(feed);
    let first: unknown;
    for (const address of candidates) {
      const held = before?.address === address.href ? before : undefined;
      try {
        const { url, bytes, validators } = await fetchBytes(address, limits, held?.validators);
        if (bytes === undefined) return undefined;
        const hash = createHash("sha256").update(bytes).digest("base64");
        // The new version of an unchanged body is worth remembering; nothing else of it is new.
        if (hash === before?.hash) {
          answered.set(feed, { ...before, address: address.href, validators });
          return undefined;
        }
        const document = parseJson(bytes);
        answered.set(feed, { address: address.href, validators, hash, dueAt: nextChange(document, now) });
        return { document, url };
      } catch (error) {
        if (limits.signal?.aborted) throw failure(feed, error);
        first ??= error;
      }
    }
    throw failure(feed, first ?? new Error("its address cannot be fetched"));
  }

  async function refreshList(): Promise<void> {
    const found = await changed("gbfs", [location]);
    if (found === undefined) return;
    const feeds = discoveredFeeds(found.document);
    if (!feeds) {
      answered.delete("gbfs");
      throw new FeedFailure("gbfs", `there is no list of feeds at ${found.url.href}`);
    }
    list = { feeds, base: found.url };
  }

  return {
    async begin(at) {
      now = at;
      answered.clear();
      // When a feed failed it may have moved, whatever the list said about its own age.
      if (list !== undefined && !failedBefore && isResting(known.get("gbfs"), now)) return undefined;
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
      // It is asked for after the feed that took its place had nothing new: that was the answer.
      if (feed === "free_bike_status" && (known.has("vehicle_status") || answered.has("vehicle_status"))) return undefined;
      if (isResting(known.get(feed), now)) return undefined;
      return (await changed(feed, addresses(listed, feed, list.base)))?.document;
    },
    commit(failed) {
      failedBefore = failed.size > 0;
      for (const [feed, answer] of answered) if (!failed.has(feed)) known.set(feed, answer);
    },
  };
}

function isResting(answer: Answer | undefined, now: number): boolean {
  return answer !== undefined && now < answer.dueAt;
}

/** When a feed may change next, by what it says of its own age and time to live; a clock that is ahead counts as ours. */
function nextChange(document: unknown, now: number): number {
  if (!isObject(document)) return now;
  const made = Math.min(instantFrom(document["last_updated"]) ?? now, now);
  const ttl = Math.max(0, numberFrom(document["ttl"]) ?? 0) * 1000;
  return made + Math.min(ttl, GREATEST_TTL);
}
