import { systemsOf } from "../../city/systems/service.ts";
import type { Concerns } from "../../health/conditions/concerns.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import { checkPeriodically } from "../../health/conditions/periodic-check.ts";
import type { PeriodicWork } from "../../storage/background/periodic.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { dataAge } from "./data-age.rules.ts";
import { TOO_OLD_MS } from "./feed-health.rules.ts";
import { listFeedHealth } from "./health-queries.ts";

/** Feeds that readiness names; the metric has them all. */
const MAX_NAMED = 5;

/** The ages of all feeds that are followed, by this process or another. @param now milliseconds since 1970 */
export async function allFeedAges(db: Database, now: number): Promise<FeedAge[]> {
  const ages: FeedAge[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) ages.push(...(await feedAges(db, systemId, now)));
  return ages;
}

/** Reports followed feeds that are too old or stale, whichever process follows them, in the readiness response, which stays 200. */
export function watchFeeds(
  db: Database,
  { clock, conditions, concerns }: { clock: () => number; conditions: Conditions; concerns: Concerns },
): PeriodicWork {
  const asking = conditions.of("checking the age of feeds");
  return checkPeriodically(asking, async () => {
    const ages = await allFeedAges(db, clock());
    const old = ages.filter(isTooOld);
    const stale = ages.filter((age) => age.staleness !== undefined && !isTooOld(age));
    concerns.set("feeds", old.length === 0 ? undefined : describe(old));
    concerns.set("stale feeds", stale.length === 0 ? undefined : describeStale(stale));
  });
}

/** Whether a feed has not been read for too long. */
export function isTooOld({ ageMs = Infinity }: FeedAge): boolean {
  return ageMs > TOO_OLD_MS;
}

function describeStale(stale: readonly FeedAge[]): string {
  const named = stale.slice(0, MAX_NAMED).map(({ source, feed, staleness }) => `${feed} of "${source}" (${staleness})`);
  return `followed feeds are stale: ${named.join(", ")}${othersText(stale)}`;
}

function othersText({ length }: readonly FeedAge[]): string {
  return length > MAX_NAMED ? `, and ${length - MAX_NAMED} more` : "";
}

function describe(old: readonly FeedAge[]): string {
  const named = old.slice(0, MAX_NAMED).map(({ source, feed, ageMs }) => {
    const age = ageMs === undefined ? "never good yet" : `last good ${Math.round(ageMs / 60_000)} min ago`;
    return `${feed} of "${source}" (${age})`;
  });
  return `followed feeds are too old: ${named.join(", ")}${othersText(old)}`;
}

/** How old a followed feed is, and for how long it has failed. */
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
  /** Why its data are too old; undefined: they are not. */
  readonly staleness: string | undefined;
}

/** A feed that no process has polled for so long is not followed any more. Shorter hides a follower that has died. */
export const FORGOTTEN_MS = 7 * 24 * 3_600_000;

/** The ages of a system's followed feeds. @param now milliseconds since 1970 */
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
