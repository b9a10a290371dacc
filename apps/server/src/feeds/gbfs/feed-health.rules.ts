import { createHash } from "node:crypto";
import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import type { StationStatusReport } from "../../city/fleet/station.rules.ts";
import { utcMinute } from "../../iso-instant.ts";
import type { Feed } from "./feed.ts";

// The health of followed feeds. A feed's data have an age: the time since the publisher last changed them, not since the
// service read them.

/** The age of a document's data, as the document states it. */
export interface DocumentAge {
  /** The document's `last_updated`, milliseconds since 1970; null: missing, invalid, or too far in the future. */
  readonly at: number | null;
  /** A digest of the document's records, without times that change with every document; null: changes are not judged. */
  readonly digest: string | null;
  /** The document's `ttl` in milliseconds: for so long the publisher does not change it. */
  readonly ttlMs: number;
}

/** A feed whose data become stale. Descriptions and positions of stations may stay the same for years. */
type AgeingFeed = Feed<StationStatusReport> | Feed<VehicleReport>;

/** If `last_reported` is so near to `last_updated`, the publisher set it when it made the document. */
const SAME_TIME_MS = 60_000;

/**
 * Returns a digest of a feed's data. A new document with the same data has the same digest. Null when no station or vehicle
 * is in service, because a system that is closed for the winter does not change until spring.
 */
export function contentDigest({ at, records }: AgeingFeed): string | null {
  if (![...records.values()].some(isInService)) return null;
  const hash = createHash("sha256");
  for (const id of [...records.keys()].toSorted()) {
    const { last_reported: reported = null, ...record } = records.get(id) ?? {};
    const isOwnTime = reported !== null && Math.abs(at - reported) > SAME_TIME_MS;
    // Leaves out facts, because they contain links, which may change with every document. Leaves out the docks for each set
    // of vehicle types, because `num_docks_available` counts them.
    const judged = { ...record, source_facts: undefined, vehicle_docks_available: undefined };
    hash.update(JSON.stringify([id, judged, isOwnTime ? reported : null]));
  }
  return hash.digest("base64");
}

function isInService(record: StationStatusReport | VehicleReport): boolean {
  return "is_renting" in record ? record.is_renting || record.is_returning : !record.is_disabled;
}

const HOUR_MS = 3_600_000;
/**
 * Multiple of `ttl` after which an unchanged `last_updated` is stale. Too low: reports a publisher that is late once.
 */
const TTL_FACTOR = 10;
/**
 * The lowest age at which data are stale. Too low: reports short outages of the publisher. Too high: partners see bikes that
 * left hours ago.
 */
const MIN_STALE_AFTER_MS = HOUR_MS;
/** The highest age at which data are stale. Too high: a document with a long `ttl` is never stale. */
const MAX_STALE_AFTER_MS = 24 * HOUR_MS;
/**
 * Maximum time without a change of the records while `last_updated` advances. Too low: reports quiet nights of small systems
 * (ten stations of Oslo did not change for 7 hours).
 */
const MAX_UNCHANGED_MS = 24 * HOUR_MS;

/** Returns the age at which data are stale. @param configured GBFS_STALE_AFTER in milliseconds, which wins if it is set */
export function staleAfterMs(ttlMs: number, configured: number | undefined): number {
  return configured ?? Math.min(MAX_STALE_AFTER_MS, Math.max(MIN_STALE_AFTER_MS, TTL_FACTOR * ttlMs));
}

/** What the database stores about the age of a feed's data. */
export interface StoredAge {
  /** The feed's `last_updated`. */
  readonly data_at: Date | null;
  /** Since when the feed's records have not changed; null: changes are not judged. */
  readonly content_since: Date | null;
  /** Null: the age of the feed's data is not judged. */
  readonly stale_after_seconds: number | null;
}

/** The age of a feed's data. */
export interface DataAge {
  readonly ageMs: number;
  /** The reason why the data are too old; undefined: they are not. */
  readonly reason: string | undefined;
}

/** Returns the age of a feed's data; undefined: it is not known, or not judged. @param now milliseconds since 1970 */
export function dataAge(
  { data_at: at, content_since: since, stale_after_seconds: seconds }: StoredAge,
  now: number,
): DataAge | undefined {
  if (seconds === null) return undefined;
  const staleMs = seconds * 1_000;
  // The age by `last_updated`, and the time without a change of the records; null: not known.
  const statedMs = at === null ? null : Math.max(0, now - at.getTime());
  const unchangedMs = since === null ? null : Math.max(0, now - since.getTime());
  if (at !== null && statedMs !== null && statedMs > staleMs)
    return { ageMs: statedMs, reason: `its data are of ${utcMinute(at)} (last_updated)` };
  if (since !== null && unchangedMs !== null && unchangedMs > Math.max(MAX_UNCHANGED_MS, staleMs)) {
    const why = at === null ? "it has no last_updated" : "last_updated goes on";
    return { ageMs: unchangedMs, reason: `none of its records has changed since ${utcMinute(since)}, and ${why}` };
  }
  const ageMs = statedMs ?? unchangedMs;
  return ageMs === null ? undefined : { ageMs, reason: undefined };
}

/** The health of one followed feed. Instants are milliseconds since 1970. */
export interface FeedHealth {
  /** When the feed was last fetched and read without a failure, whether it had changed or not; undefined: never. */
  readonly goodAt: number | undefined;
  /** The number of failures since `goodAt`. */
  readonly failures: number;
  readonly failingSince: number | undefined;
  /** The reason of the latest failure. */
  readonly message: string | undefined;
  /** The feed is not fetched again before this instant. */
  readonly retryAt: number;
}

/** The health of a feed that was never fetched. */
export const UNKNOWN_HEALTH: FeedHealth = {
  goodAt: undefined,
  failures: 0,
  failingSince: undefined,
  message: undefined,
  retryAt: 0,
};

/**
 * Maximum pause before a retry if the server sends no `Retry-After`. Too low: burdens a failing server. Too high: delays
 * updates from a recovered feed.
 */
const MAX_BACKOFF_MS = 5 * 60_000;
/** Maximum `Retry-After` that is obeyed. Too high: one wrong header stops the updates of a city for a day. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;
/** Maximum doublings of a pause. After so many, any interval exceeds `MAX_BACKOFF_MS`. */
const MAX_DOUBLINGS = 20;

/** A failure to fetch or read a feed. */
interface PollFailure {
  readonly now: number;
  readonly message: string;
  /** The server's `Retry-After` in milliseconds; null: it sent none. */
  readonly retryAfterMs: number | null;
  readonly intervalMs: number;
}

/** Returns a feed's health after it was fetched and read, whether it had changed or not. */
export function afterSuccess(now: number): FeedHealth {
  return { ...UNKNOWN_HEALTH, goodAt: now };
}

/**
 * Returns a feed's health after a failure. After the first failure the feed is fetched again at the next poll. The pause
 * then is one interval, three, seven and so on, up to `MAX_BACKOFF_MS`. It is not shorter than `Retry-After`, of which at
 * most `MAX_RETRY_AFTER_MS` counts.
 */
export function afterFailure(before: FeedHealth, { now, message, retryAfterMs, intervalMs }: PollFailure): FeedHealth {
  const failures = before.failures + 1;
  const pause = Math.min((2 ** Math.min(before.failures, MAX_DOUBLINGS) - 1) * intervalMs, MAX_BACKOFF_MS);
  const asked = Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return {
    goodAt: before.goodAt,
    failures,
    failingSince: before.failingSince ?? now,
    message,
    retryAt: now + Math.max(pause, asked),
  };
}

/** Least value of `maxPollSilenceMs`: twice the longest `ttl` that is obeyed (`MAX_TTL_MS` of `documents.ts`). */
const MIN_POLL_SILENCE_MS = 20 * 60_000;
/**
 * Milliseconds without a poll after which a source or feed counts as no longer followed. Too low: hides that the process
 * which followed it has died.
 */
export const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Polls that must have been missed before a source counts as silent. */
const MISSED_POLLS = 3;

/** Returns for how many milliseconds a source may go without a poll, or a feed may fail, before that is reported. */
export function maxPollSilenceMs(intervalMs: number): number {
  return Math.max(MIN_POLL_SILENCE_MS, MISSED_POLLS * intervalMs);
}

/** Added to two intervals, for a poll that takes long. */
const POLL_SLACK_MS = 60_000;

/**
 * Returns the instant after which no process can still be polling a source, if its last poll began at `polledAt`. Too early:
 * a late poll creates again what an undo removed. Too late: the operator waits too long before the undo is allowed.
 */
export function mayPollUntil(polledAt: number, intervalMs: number): number {
  return polledAt + 2 * intervalMs + POLL_SLACK_MS;
}

/** Tells whether a feed has failed since it was last fetched and read. */
export function isFailing({ failures }: FeedHealth): boolean {
  return failures > 0;
}
