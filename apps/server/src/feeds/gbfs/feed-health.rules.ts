import { createHash } from "node:crypto";
import type { VehicleReport } from "../../city/fleet/snapshot-decision.rules.ts";
import type { StationStatusReport } from "../../city/fleet/station.rules.ts";
import { utcMinute } from "../../iso-instant.ts";
import type { Feed } from "./feed.ts";

/** The age of a feed's data: the time since its publisher last changed them, not since they were read. */

/** The age of a document's data, as the document states it. */
export interface DocumentAge {
  /** The document's `last_updated`, milliseconds since 1970; null: missing, or in the future. */
  readonly at: number | null;
  /** The digest of the document's records, without times that change with every document; null: not judged. */
  readonly digest: string | null;
  /** Milliseconds for which the publisher promises it not to change. */
  readonly ttlMs: number;
}

/** The feeds whose data age. Descriptions, and where stations are, may stay as they are for years. */
type AgeingFeed = Feed<StationStatusReport> | Feed<VehicleReport>;

/** A `last_reported` so near `last_updated` was set when the document was made. */
const SAME_TIME_MS = 60_000;

/**
 * Returns a digest of a feed's data, which is the same for a new document of the same data. Null when nothing is in
 * service, because a system that is closed for the winter does not change until spring.
 */
export function contentDigest({ at, records }: AgeingFeed): string | null {
  if (![...records.values()].some(isInService)) return null;
  const hash = createHash("sha256");
  for (const id of [...records.keys()].toSorted()) {
    const { last_reported: reported = null, ...record } = records.get(id) ?? {};
    const isOwnTime = reported !== null && Math.abs(at - reported) > SAME_TIME_MS;
    // Links may change with every document.
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
/** The lowest limit. Too low: reports short outages of the publisher. Too high: partners see bikes that left hours ago. */
const MIN_STALE_AFTER_MS = HOUR_MS;
/** The highest limit. Too high: a document with a long `ttl` is never stale. */
const MAX_STALE_AFTER_MS = 24 * HOUR_MS;
/**
 * Maximum time without a change of the records while `last_updated` advances. Too low: reports the night of a small
 * system (ten stations of Oslo did not change for 7 hours).
 */
const MAX_UNCHANGED_MS = 24 * HOUR_MS;

/** Returns the age at which data are stale. @param configured GBFS_STALE_AFTER, which decides where it is set */
export function staleAfterMs(ttlMs: number, configured: number | undefined): number {
  return configured ?? Math.min(MAX_STALE_AFTER_MS, Math.max(MIN_STALE_AFTER_MS, TTL_FACTOR * ttlMs));
}

/** The stored age of a feed's data. */
export interface StoredAge {
  readonly data_at: Date | null;
  readonly content_since: Date | null;
  readonly stale_after_seconds: number | null;
}

/** The age of a feed's data. */
export interface DataAge {
  readonly ageMs: number;
  /** The reason why they are too old; undefined: they are not. */
  readonly reason: string | undefined;
}

/** Returns how old a feed's data are; undefined: not known, or not judged. @param now milliseconds since 1970 */
export function dataAge(
  { data_at: at, content_since: since, stale_after_seconds: seconds }: StoredAge,
  now: number,
): DataAge | undefined {
  if (seconds === null) return undefined;
  const staleMs = seconds * 1_000;
  const [saidMs, unchangedMs] = [at, since].map((each) => each && Math.max(0, now - each.getTime()));
  if (at !== null && typeof saidMs === "number" && saidMs > staleMs)
    return { ageMs: saidMs, reason: `its data are of ${utcMinute(at)} (last_updated)` };
  if (since !== null && typeof unchangedMs === "number" && unchangedMs > Math.max(MAX_UNCHANGED_MS, staleMs)) {
    const why = at === null ? "it has no last_updated" : "last_updated goes on";
    return { ageMs: unchangedMs, reason: `none of its records has changed since ${utcMinute(since)}, and ${why}` };
  }
  const ageMs = saidMs ?? unchangedMs;
  return typeof ageMs === "number" ? { ageMs, reason: undefined } : undefined;
}

/** The health of one followed feed. Instants are milliseconds since 1970. */
export interface FeedHealth {
  /** When it was last fetched and read whole, changed or not; undefined: never. */
  readonly goodAt: number | undefined;
  /** Failures since then. */
  readonly failures: number;
  readonly failingSince: number | undefined;
  /** The reason of the latest failure. */
  readonly message: string | undefined;
  /** The feed is not fetched before. */
  readonly retryAt: number;
}

export const UNKNOWN_HEALTH: FeedHealth = {
  goodAt: undefined,
  failures: 0,
  failingSince: undefined,
  message: undefined,
  retryAt: 0,
};

/**
 * Maximum pause without a `Retry-After`. Too low: burdens a failing server. Too high: delays updates from a recovered
 * feed.
 */
const MAX_BACKOFF_MS = 5 * 60_000;
/** Maximum `Retry-After` that is obeyed. Too high: one wrong header stops the updates of a city for a day. */
const MAX_RETRY_AFTER_MS = 60 * 60_000;
/** After so many doublings any interval exceeds the longest pause. */
const MAX_DOUBLINGS = 20;

interface PollFailure {
  readonly now: number;
  readonly message: string;
  /** Milliseconds for which the server asked us to wait; null where it did not. */
  readonly retryAfterMs: number | null;
  readonly intervalMs: number;
}

export function afterSuccess(now: number): FeedHealth {
  return { ...UNKNOWN_HEALTH, goodAt: now };
}

/** The feed is fetched again at the next poll; then the pause doubles with each failure. It is never below `Retry-After`. */
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

/** Twice the longest `ttl` that is honoured: an older feed has failed. */
const TOO_OLD_MS = 20 * 60_000;
/**
 * Milliseconds without a poll after which a source or feed is no longer followed. Too low: hides a follower that has died.
 */
export const FORGOTTEN_MS = 7 * 24 * 3_600_000;
/** Polls that must have been missed before a source counts as silent. */
const MISSED_POLLS = 3;

/** Returns how long a source may go without a poll, and its feeds may fail. */
export function maxPollSilenceMs(intervalMs: number): number {
  return Math.max(TOO_OLD_MS, MISSED_POLLS * intervalMs);
}

/** Beyond two intervals, for a poll that takes long. */
const POLL_SLACK_MS = 60_000;

/**
 * Returns until when a process may still poll a source that was polled last at an instant. Too early: a poll recreates what
 * was removed. Too late: somebody who stops following waits for nothing.
 */
export function mayPollUntil(polledAt: number, intervalMs: number): number {
  return polledAt + 2 * intervalMs + POLL_SLACK_MS;
}

export function isFailing({ failures }: FeedHealth): boolean {
  return failures > 0;
}
