import type { Queryable } from "../../db/database.ts";
import { listFeedHealth } from "./feed-health-queries.ts";

/** How old a followed feed is, and for how long it has failed. */
export interface FeedAge {
  readonly systemId: string;
  readonly source: string;
  readonly feed: string;
  /** Milliseconds since it was last got and read whole; undefined: never. */
  readonly ageMs: number | undefined;
  /** 0: it does not fail. */
  readonly failingMs: number;
}

/** A feed that nobody has looked at for so long is not followed any more. Shorter hides a follower that has died. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;

/** The ages of a system's followed feeds. @param now milliseconds since 1970 */
export async function feedAges(db: Queryable, systemId: string, now: number): Promise<FeedAge[]> {
  const feeds = await listFeedHealth(db, systemId, now - FORGOTTEN_MS);
  return feeds.map(({ source, feed, goodAt, failingSince }) => ({
    systemId,
    source,
    feed,
    ageMs: goodAt === undefined ? undefined : Math.max(0, now - goodAt),
    failingMs: failingSince === undefined ? 0 : Math.max(0, now - failingSince),
  }));
}
