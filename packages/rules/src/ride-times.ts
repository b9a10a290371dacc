import type { BatchWarning, MessageArguments } from "@bikeshare/contract/pure";

/*
 * Decides which times of a ride are stored. A backend reports them by its own clock, and the service's processes have clocks
 * of their own: times slightly ahead become now, and times far ahead are refused.
 */

/**
 * How far a time may be ahead of the server's clock. Too low: requests of a backend with a fast clock are rejected, and its
 * rides never end. Too high: a wrong time zone goes unnoticed.
 */
const CLOCK_TOLERANCE_MS = 5 * 60_000;

/**
 * A time as it is stored. It is not later than now: otherwise the next report, with the right time, would count as older.
 * Only `storedEnd` returns a later time: that of a ride's start that another process's faster clock has stored.
 */
export interface StoredTime {
  readonly at: Date;
  /** Whether the server's present time is used, because no time was given or the given one is slightly in the future. */
  readonly isNow: boolean;
  /** The warning for the caller; undefined when the time is stored as given. */
  readonly warning: BatchWarning | undefined;
}

/** What is wrong with a ride's times, as a message of `invalid_parameter`. */
export type RideTimesIssue = MessageArguments<"invalid_parameter">;

/**
 * Returns the time to store for a time that a caller gives, or the issue if that is too far in the future.
 * @param field the name of the time in the request, for messages
 * @param given RFC 3339; undefined: now
 */
export function storedTime(field: string, given: string | undefined, now: Date): StoredTime | RideTimesIssue {
  const at = given === undefined ? now : new Date(given);
  const aheadMs = at.getTime() - now.getTime();
  if (aheadMs > CLOCK_TOLERANCE_MS) return ["inFuture", { field, limitSeconds: CLOCK_TOLERANCE_MS / 1000 }];
  return aheadMs > 0 ? movedTime(field, at, now) : { at, isNow: given === undefined, warning: undefined };
}

/** Returns `now` in place of a given time that is slightly ahead of it, with a warning. */
function movedTime(field: string, given: Date, now: Date): StoredTime {
  const seconds = Math.ceil((given.getTime() - now.getTime()) / 1000);
  return { at: now, isNow: true, warning: ["clockAhead", { field, seconds, stored: now.toISOString() }] };
}

/**
 * Returns the end to store for a ride, or the issue with it. An end of "now" that is before the start is moved to the start:
 * the start may come from another process with a faster clock, and rejecting the end would leave the ride under way.
 */
export function storedEnd(
  startedAt: Date,
  field: string,
  given: string | undefined,
  now: Date,
): StoredTime | RideTimesIssue {
  const stored = storedTime(field, given, now);
  if (isIssue(stored)) return stored;
  const end = stored.isNow && stored.at < startedAt ? { ...stored, at: startedAt } : stored;
  return rideTimesIssue(startedAt.getTime(), end.at.getTime(), field) ?? end;
}

/** Tells whether `storedTime` or `storedEnd` has returned an issue. */
export function isIssue(stored: StoredTime | RideTimesIssue): stored is RideTimesIssue {
  return Array.isArray(stored);
}

/**
 * Tells whether a later time, `given`, may have been stored as `stored`: `storedTime` replaces a time in the near future by
 * the present. A repeated command gives the same time again, and must agree with what the first one stored.
 */
export function mayBeStoredAs(stored: Date, given: Date): boolean {
  return given > stored && given.getTime() - stored.getTime() <= CLOCK_TOLERANCE_MS;
}

/** The earliest accepted start of a ride: no digital records are older, so an earlier date is wrong. */
export const EARLIEST_START = Date.parse("1970-01-01T00:00:00.000Z");

/** The longest accepted ride in seconds: the maximum of the database's integers, 68 years. */
const LONGEST_RIDE_SECONDS = 2 ** 31 - 1;

/**
 * Returns the issue with a ride's start and end, in milliseconds since 1970; undefined when they are valid.
 * @param endField the name of the end in the request
 */
function rideTimesIssue(startedAt: number, endedAt: number, endField: string): RideTimesIssue | undefined {
  if (startedAt < EARLIEST_START) return ["startBefore1970"];
  if (endedAt < startedAt) return ["endBeforeStart", { field: endField, startedAt: new Date(startedAt).toISOString() }];
  if ((endedAt - startedAt) / 1000 > LONGEST_RIDE_SECONDS)
    return ["endTooLate", { field: endField, limit: LONGEST_RIDE_SECONDS }];
  return undefined;
}

/** The time span of a ride. `ended_at` null: it has not ended. */
export interface RideSpan {
  readonly started_at: Date;
  readonly ended_at: Date | null;
}

/** Tells whether two rides of a bike overlap. */
export function doOverlap(a: RideSpan, b: RideSpan): boolean {
  return beginsBeforeEnd(a, b) && beginsBeforeEnd(b, a);
}

function beginsBeforeEnd(a: RideSpan, b: RideSpan): boolean {
  return b.ended_at === null || a.started_at < b.ended_at;
}

/**
 * Returns when a ride starts; the first of `others` if they make the start impossible. A start of "now" is moved to the
 * end of the previous ride if that is slightly later, because another process with a faster clock may have written it.
 * @param others rides of the bike that would overlap
 */
export function startBeside<Ride extends RideSpan>({ at, isNow }: StoredTime, others: readonly Ride[]): Date | Ride {
  const [obstacle] = others;
  if (obstacle === undefined) return at;
  const ends = others.map(({ ended_at: endedAt }) => endedAt?.getTime() ?? Infinity);
  // Infinite if one of the rides has not ended: then a ride is returned.
  const latest = Math.max(at.getTime(), ...ends);
  const isClockAhead = isNow && latest <= at.getTime() + CLOCK_TOLERANCE_MS;
  return isClockAhead ? new Date(latest) : obstacle;
}
