import { systemsOf } from "../../city/systems/service.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import { dataAge, FORGOTTEN_MS, mayPollUntil } from "./feed-health.rules.ts";
import {
  countBikesBySource,
  countStationsBySource,
  findLatestPoll,
  listFeedHealth,
  listMissingStations,
  listSourceHealth,
  type MissingStation,
  type SourceRow,
  type StationCount,
  type StoredFeedHealth,
} from "./health-queries.ts";

export type { StoredFeedHealth } from "./health-queries.ts";

/** A source and the health of its feeds, as stored in the database. */
export interface SourceState extends SourceRow {
  readonly feeds: readonly StoredFeedHealth[];
}

/** The contents of a source. */
export interface SourceContents {
  readonly source: string;
  readonly stations: readonly StationCount[];
  readonly bikes: number;
  /** Stations, except removed ones, that its latest snapshots do not list. At most `SHOWN_MISSING` in all sources together. */
  readonly missing: readonly MissingStation[];
}

/** Maximum missing stations that are listed. A source that misses more is probably another source by now. */
const SHOWN_MISSING = 200;

/** Returns the sources of a system with their health. */
export async function sourceStates(db: Queryable, systemId: string): Promise<SourceState[]> {
  // Since 1970: also the feeds that no process has polled for long.
  const [sources, feeds] = await Promise.all([listSourceHealth(db, systemId), listFeedHealth(db, systemId, 0)]);
  return sources.map((source) => ({ ...source, feeds: feeds.filter((feed) => feed.source === source.source) }));
}

/**
 * Returns the instant until which a process may still poll a source, in milliseconds since 1970; undefined: no process has
 * ever followed it.
 */
export async function followedUntil(db: Queryable, systemId: string, source: string): Promise<number | undefined> {
  const latest = await findLatestPoll(db, systemId, source);
  return latest && mayPollUntil(latest.polled_at.getTime(), latest.interval_ms);
}

/** Returns the contents of each source of a system, including trip files and the operator. */
export async function sourceContents(db: Queryable, systemId: string): Promise<SourceContents[]> {
  const [stations, bikes, missing] = await Promise.all([
    countStationsBySource(db, systemId),
    countBikesBySource(db, systemId),
    listMissingStations(db, systemId, SHOWN_MISSING),
  ]);
  const sources = [...new Set([...stations, ...bikes].map(({ source }) => source))].toSorted();
  return sources.map((source) => ({
    source,
    stations: stations.filter((each) => each.source === source),
    bikes: bikes.find((each) => each.source === source)?.n ?? 0,
    missing: missing.filter((each) => each.source === source),
  }));
}

/** Returns the ages of all followed feeds of all systems and processes. @param now milliseconds since 1970 */
export async function allFeedAges(db: Database, now: number): Promise<FeedAge[]> {
  const ages: FeedAge[] = [];
  for (const { system_id: systemId } of await systemsOf(db)) ages.push(...(await feedAges(db, systemId, now)));
  return ages;
}

/** The age of a followed feed and of its data, and the duration of its failure. */
export interface FeedAge {
  readonly systemId: string;
  readonly source: string;
  readonly feed: string;
  /** Milliseconds since the feed was last fetched and read without a failure; undefined: never. */
  readonly ageMs: number | undefined;
  /** Milliseconds since the feed began to fail; 0: it does not fail. */
  readonly failingMs: number;
  /**
   * Milliseconds since the publisher last changed the feed's data; undefined: not known, or not judged, as for descriptions,
   * which may stay the same for years.
   */
  readonly dataAgeMs: number | undefined;
  /** The reason why the feed's data are too old; undefined: they are not. */
  readonly staleness: string | undefined;
}

/**
 * Returns the ages of a system's feeds that were polled in the last days (`FORGOTTEN_MS`).
 * @param now milliseconds since 1970
 */
async function feedAges(db: Queryable, systemId: string, now: number): Promise<FeedAge[]> {
  const feeds = await listFeedHealth(db, systemId, now - FORGOTTEN_MS);
  return feeds.map(({ source, feed, succeeded_at: succeededAt, failing_since: failingSince, ...stored }) => {
    const data = dataAge(stored, now);
    return {
      systemId,
      source,
      feed,
      ageMs: succeededAt === null ? undefined : Math.max(0, now - succeededAt.getTime()),
      failingMs: failingSince === null ? 0 : Math.max(0, now - failingSince.getTime()),
      dataAgeMs: data?.ageMs,
      staleness: data?.reason,
    };
  });
}
