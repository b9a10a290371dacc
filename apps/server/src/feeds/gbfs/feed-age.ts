import { systemsOf } from "../../city/systems/service.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { dataAge } from "./data-age.rules.ts";
import { FORGOTTEN_MS } from "./feed-health.rules.ts";
import { listFeedHealth } from "./health-queries.ts";

/** Returns the ages of all feeds that are followed, by this process or another. @param now milliseconds since 1970 */
export async function allFeedAges(db: Database, now: number): Promise<FeedAge[]> {
  const ages: FeedAge[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) ages.push(...(await feedAges(db, systemId, now)));
  return ages;
}

/** The age of a followed feed, and the duration of its failure. */
export interface FeedAge {
  readonly systemId: string;
  readonly source: string;
  readonly feed: string;
  /** Milliseconds since it was last fetched and read whole; undefined: never. */
  readonly ageMs: number | undefined;
  /** 0: it does not fail. */
  readonly failingMs: number;
  /** Milliseconds since its publisher last had something to say; undefined: not judged. */
  readonly dataAgeMs: number | undefined;
  /** The reason why its data are too old; undefined: they are not. */
  readonly staleness: string | undefined;
}

/** Returns the ages of a system's followed feeds. @param now milliseconds since 1970 */
async function feedAges(db: Queryable, systemId: string, now: number): Promise<FeedAge[]> {
  const feeds = await listFeedHealth(db, systemId, now - FORGOTTEN_MS);
  return feeds.map(({ source, feed, succeeded_at: succeededAt, failing_since: failingSince, ...stored }) => {
    const data = dataAge(stored, now);
    return {
      ...{ systemId, source, feed },
      ageMs: succeededAt === null ? undefined : Math.max(0, now - succeededAt.getTime()),
      failingMs: failingSince === null ? 0 : Math.max(0, now - failingSince.getTime()),
      ...{ dataAgeMs: data?.ageMs, staleness: data?.reason },
    };
  });
}
