import type { Queryable } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import type { FeedHealth } from "./feed-health.ts";

/** How a followed feed does, as any process sees it. Instants are milliseconds since 1970. */
interface StoredFeedHealth {
  readonly source: string;
  readonly feed: string;
  /** When a process last looked, whatever came of it. */
  readonly lookedAt: number;
  readonly goodAt: number | undefined;
  readonly failingSince: number | undefined;
  readonly message: string | undefined;
}

// A process that has just begun does not know when a feed was good before; one that was slower must not take it back.
const save = statement(
  "gbfsFeedHealth.save",
  `with said as (
     select feed, succeeded_at, failing_since, failures, message
     from json_to_recordset($4::json) as each(feed text, succeeded_at timestamptz, failing_since timestamptz,
                                              failures integer, message text)),
   gone as (
     delete from gbfs_feed_health where system_id = $1 and source = $2 and feed not in (select feed from said))
   insert into gbfs_feed_health (system_id, source, feed, checked_at, succeeded_at, failing_since, failures, message)
   select $1, $2, feed, $3::timestamptz, succeeded_at, failing_since, failures, message from said order by feed
   on conflict (system_id, source, feed) do update set
     checked_at = greatest(gbfs_feed_health.checked_at, excluded.checked_at),
     succeeded_at = greatest(gbfs_feed_health.succeeded_at, excluded.succeeded_at),
     failing_since = excluded.failing_since, failures = excluded.failures, message = excluded.message`,
);

const list = statement(
  "gbfsFeedHealth.list",
  `select source, feed, checked_at, succeeded_at, failing_since, message from gbfs_feed_health
   where system_id = $1 and checked_at > $2::timestamptz order by source, feed limit 100`,
);

/** @param now milliseconds since 1970 */
export async function saveFeedHealth(
  db: Queryable,
  { systemId, source, now }: { readonly systemId: string; readonly source: string; readonly now: number },
  health: ReadonlyMap<string, FeedHealth>,
): Promise<void> {
  const said = [...health].map(([feed, { goodAt, failingSince, failures, message }]) => ({
    feed,
    succeeded_at: instant(goodAt),
    failing_since: instant(failingSince),
    failures,
    message: message ?? null,
  }));
  await db.query(save, [systemId, source, new Date(now), JSON.stringify(said)]);
}

/** The followed feeds of a system that somebody has looked at since an instant, 100 at most. */
export async function listFeedHealth(db: Queryable, systemId: string, since: number): Promise<StoredFeedHealth[]> {
  type Row = Record<"source" | "feed", string> & {
    readonly checked_at: Date;
    readonly succeeded_at: Date | null;
    readonly failing_since: Date | null;
    readonly message: string | null;
  };
  const rows = await db.query<Row>(list, [systemId, new Date(since)]);
  return rows.map(({ source, feed, checked_at, succeeded_at, failing_since, message }) => ({
    source,
    feed,
    lookedAt: checked_at.getTime(),
    goodAt: succeeded_at?.getTime(),
    failingSince: failing_since?.getTime(),
    message: message ?? undefined,
  }));
}

function instant(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
