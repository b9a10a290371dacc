import type { Concerns } from "../../conditions/concerns.ts";
import type { Conditions } from "../../conditions/conditions.ts";
import { checkPeriodically, type PeriodicCheck } from "../../conditions/periodic-check.ts";
import type { Database } from "../../db/database.ts";
import { systemsOf } from "../../systems/service.ts";
import { type FeedAge, feedAges } from "./feed-ages.ts";

/** Twice the longest rest that a feed is granted: older than that, something is wrong. */
const TOO_OLD_MS = 20 * 60_000;
/** Feeds that readiness names; the metric has them all. */
const MAX_NAMED = 5;

/** The ages of all feeds that are followed, by this process or another. @param now milliseconds since 1970 */
export async function allFeedAges(db: Database, now: number): Promise<FeedAge[]> {
  const ages: FeedAge[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) ages.push(...(await feedAges(db, systemId, now)));
  return ages;
}

/** Notices followed feeds that are too old, whichever process follows them. Readiness tells of them, and stays 200. */
export function watchFeeds(
  db: Database,
  { clock, conditions, concerns }: { clock: () => number; conditions: Conditions; concerns: Concerns },
): PeriodicCheck {
  const asking = conditions.of("looking for old feeds");
  return checkPeriodically(asking, async () => {
    const old = (await allFeedAges(db, clock())).filter(({ ageMs = Infinity }) => ageMs > TOO_OLD_MS);
    concerns.set("feeds", old.length === 0 ? undefined : describe(old));
  });
}

function describe(old: readonly FeedAge[]): string {
  const named = old.slice(0, MAX_NAMED).map(({ source, feed, ageMs }) => {
    const age = ageMs === undefined ? "never good yet" : `last good ${Math.round(ageMs / 60_000)} min ago`;
    return `${feed} of "${source}" (${age})`;
  });
  const others = old.length > MAX_NAMED ? `, and ${old.length - MAX_NAMED} more` : "";
  return `followed feeds are too old: ${named.join(", ")}${others}`;
}
