/** The age of a feed's data: the time since its publisher last changed them, not since they were read. */
import { createHash } from "node:crypto";
import type { VehicleReport } from "../../city/fleet/bike-snapshot-decision.rules.ts";
import type { StationStatusReport } from "../../city/fleet/station.rules.ts";
import { utcMinute } from "../../iso-instant.ts";
import type { Feed } from "./feed.ts";

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
