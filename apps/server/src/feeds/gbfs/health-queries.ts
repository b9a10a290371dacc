import { rowsJson } from "../../city/fleet/snapshot-rows.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { type DocumentAge, type FeedHealth, staleAfterMs, type StoredAge } from "./feed-health.rules.ts";

/*
 * The statements about the health of followed GBFS sources: first of their feeds, then of the sources as a whole, and last
 * the stations and bikes that each source has.
 */

// Takes the `greatest` of times, because a process that has just started knows no earlier success, and a slow process must
// not set times back. Keeps the stored age of the data of a feed that has not responded: `stale_after_seconds` is null then.
// Keeps `content_since` while the digest of the records stays the same.
const upsertFeedHealth = statement(
  "gbfsFeedHealth.upsert",
  `with given as (
     select feed, succeeded_at, failing_since, failures, message, data_at, content_digest, stale_after_seconds,
       case when content_digest is not null then $3::timestamptz end as content_since
     from json_to_recordset($4::json) as each(
       feed text, succeeded_at timestamptz, failing_since timestamptz, failures integer, message text,
       data_at timestamptz, content_digest text, stale_after_seconds integer)),
   gone as (
     delete from gbfs_feed_health where system_id = $1 and source = $2 and feed not in (select feed from given))
   insert into gbfs_feed_health as stored (system_id, source, feed, checked_at, succeeded_at, failing_since, failures,
     message, data_at, content_digest, content_since, stale_after_seconds)
   select $1, $2, feed, $3::timestamptz, succeeded_at, failing_since, failures, message, data_at, content_digest,
     content_since, stale_after_seconds from given order by feed
   on conflict (system_id, source, feed) do update set
     checked_at = greatest(stored.checked_at, excluded.checked_at),
     succeeded_at = greatest(stored.succeeded_at, excluded.succeeded_at),
     failing_since = excluded.failing_since, failures = excluded.failures, message = excluded.message,
     data_at = case when excluded.stale_after_seconds is null then stored.data_at else excluded.data_at end,
     content_since = case when excluded.stale_after_seconds is null or excluded.content_digest = stored.content_digest
       then stored.content_since else excluded.content_since end,
     content_digest = case when excluded.stale_after_seconds is null then stored.content_digest
       else excluded.content_digest end,
     stale_after_seconds = coalesce(excluded.stale_after_seconds, stored.stale_after_seconds)
   returning feed, data_at, content_since, stale_after_seconds`,
);

const listPolledSince = statement(
  "gbfsFeedHealth.list",
  `select source, feed, checked_at, succeeded_at, failing_since, failures, message, data_at, content_since,
     stale_after_seconds
   from gbfs_feed_health
   where system_id = $1 and checked_at > $2::timestamptz order by source, feed limit 100`,
);

/** What the database stores about the age of a feed's data after a poll. */
export type FeedDataAge = StoredAge & { readonly feed: string };

/** A poll, as far as the health of its feeds is concerned. */
interface FeedPoll {
  readonly systemId: string;
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** GBFS_STALE_AFTER in milliseconds; undefined: it is not set. */
  readonly staleAfterMs?: number | undefined;
}

/**
 * Writes the health of a source's feeds, and deletes that of feeds which `health` does not have.
 * @param ages the age of the data of the feeds that responded
 * @returns the age of the data of each feed, as stored now
 */
export function updateFeedHealth(
  db: Queryable,
  { systemId, source, now, staleAfterMs: configured }: FeedPoll,
  health: ReadonlyMap<string, FeedHealth>,
  ages: ReadonlyMap<string, DocumentAge> = new Map(),
): Promise<FeedDataAge[]> {
  const rows = [...health].map(([feed, { goodAt = null, failingSince = null, failures, message = null }]) => {
    const age = ages.get(feed);
    return {
      feed,
      succeeded_at: goodAt,
      failing_since: failingSince,
      failures,
      message,
      data_at: age?.at ?? null,
      content_digest: age?.digest ?? null,
      stale_after_seconds: age === undefined ? null : Math.round(staleAfterMs(age.ttlMs, configured) / 1_000),
    };
  });
  const json = rowsJson(rows, ["succeeded_at", "failing_since", "data_at"]);
  return db.query<FeedDataAge>(upsertFeedHealth, [systemId, source, new Date(now), json]);
}

/** The health of a followed feed as stored in the database, where all processes share it. */
export type StoredFeedHealth = Omit<Tables["gbfs_feed_health"], "system_id" | "content_digest">;

/** Returns the followed feeds of a system that any process has polled since an instant, 100 at most. */
export function listFeedHealth(db: Queryable, systemId: string, since: number): Promise<StoredFeedHealth[]> {
  return db.query<StoredFeedHealth>(listPolledSince, [systemId, new Date(since)]);
}

// Keeps the stored `failing_since`, because a process that has just started does not know since when the source fails.
const upsertSourceHealth = statement(
  "gbfsSourceHealth.upsert",
  `insert into gbfs_source_health (system_id, source, location, interval_ms, polled_at, failing_since, message)
   values ($1, $2, $3, $4, $5::timestamptz, case when $6::text is null then null else $5::timestamptz end, $6)
   on conflict (system_id, source) do update set
     location = excluded.location, interval_ms = excluded.interval_ms,
     polled_at = greatest(gbfs_source_health.polled_at, excluded.polled_at), message = excluded.message,
     failing_since = case when excluded.message is not null
       then coalesce(gbfs_source_health.failing_since, excluded.failing_since) end`,
);

const listSourceHealths = statement(
  "gbfsSourceHealth.list",
  `select source, health.location, health.interval_ms, health.polled_at, health.failing_since, health.message,
     applied.published_id, applied.information_at, applied.status_at, applied.vehicles_at
   from (select * from gbfs_sources where system_id = $1) as applied
   full join (select * from gbfs_source_health where system_id = $1) as health using (source)
   order by source limit 100`,
);

/** A poll of a source. */
export interface SourcePoll {
  readonly systemId: string;
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The location without possible secrets. */
  readonly location: string;
  readonly intervalMs: number;
  /** The reason why fetched data cannot be applied; null: they can be. */
  readonly message: string | null;
}

/** Writes the health of a source after a poll. A process that follows it does so after each poll. */
export async function updateSourceHealth(
  db: Queryable,
  { systemId, source, now, location, intervalMs, message }: SourcePoll,
): Promise<void> {
  await db.query(upsertSourceHealth, [systemId, source, location, intervalMs, new Date(now), message]);
}

const findSource = statement(
  "gbfsSourceHealth.find",
  "select polled_at, interval_ms from gbfs_source_health where system_id = $1 and source = $2",
);

/** Returns when a source was last polled, and its poll interval; undefined: no process has ever followed it. */
export async function findLatestPoll(
  db: Queryable,
  systemId: string,
  source: string,
): Promise<Pick<Tables["gbfs_source_health"], "polled_at" | "interval_ms"> | undefined> {
  return (
    await db.query<Pick<Tables["gbfs_source_health"], "polled_at" | "interval_ms">>(findSource, [systemId, source])
  )[0];
}

type SourceTimes = Pick<Tables["gbfs_sources"], "published_id" | "information_at" | "status_at" | "vehicles_at">;
type Health = Omit<Tables["gbfs_source_health"], "system_id" | "source">;

/** A source: the times of its applied feeds, and its health, which is null if no process has followed it. */
export type SourceRow = { readonly source: string } & SourceTimes & {
    readonly [Name in keyof Health]: Health[Name] | null;
  };

/** Returns the sources of a system from which a snapshot was applied or which were followed, 100 at most. */
export function listSourceHealth(db: Queryable, systemId: string): Promise<SourceRow[]> {
  return db.query<SourceRow>(listSourceHealths, [systemId]);
}

const countStations = statement(
  "gbfsSources.countStations",
  `select source, status, count(*)::int as n from stations where system_id = $1 group by source, status`,
);

const countBikes = statement(
  "gbfsSources.countBikes",
  `select source, count(*)::int as n from bikes where system_id = $1 and vehicle_state <> 'removed' group by source`,
);

// Reads all stations of the system, without an index, because they are few.
const listMissing = statement(
  "gbfsSources.listMissing",
  `select source, id, name, status, absent_snapshots, status_as_of from stations
   where system_id = $1 and absent_snapshots > 0 and status <> 'removed'
   order by status_as_of desc nulls last, id limit $2`,
);

/** The number of a source's stations with a status. */
export type StationCount = Pick<Tables["stations"], "source" | "status"> & { readonly n: number };

/** Counts all stations of a system, including removed ones, by source and status. */
export function countStationsBySource(db: Queryable, systemId: string): Promise<StationCount[]> {
  return db.query<StationCount>(countStations, [systemId]);
}

/** Counts the bikes of a system that are not removed, by source. */
export function countBikesBySource(
  db: Queryable,
  systemId: string,
): Promise<{ readonly source: string; readonly n: number }[]> {
  return db.query(countBikes, [systemId]);
}

/** A station that the latest snapshots of its source do not list. */
export type MissingStation = Pick<
  Tables["stations"],
  "source" | "id" | "name" | "status" | "absent_snapshots" | "status_as_of"
>;

/** Returns the stations that are missing from their source. Those that were listed most recently come first. */
export function listMissingStations(db: Queryable, systemId: string, limit: number): Promise<MissingStation[]> {
  return db.query<MissingStation>(listMissing, [systemId, limit]);
}
