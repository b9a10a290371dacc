import type { BatchWarning, MessageArguments, RideCancel, RideEnd, RideStart } from "@bikeshare/contract";
import type { RideState, RideTimes } from "./ride-queries.ts";

/**
 * By how much a time may lie ahead of the server's clock. Too low: what a backend with a wrong clock reports is refused, and
 * its rides never end. Too high: a wrong time zone goes unnoticed.
 */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** A time as it is stored: never later than now, or later reports would count as older ones. */
export interface StoredTime {
  readonly at: Date;
  /** Whether it is the server's own time, because none was given or the given one lies ahead. */
  readonly isNow: boolean;
  /** What to tell the caller; undefined when the time is stored as it was given. */
  readonly warning: BatchWarning | undefined;
}

/**
 * The time to store for one that a caller gives; the message of `invalid_parameter` where it lies too far ahead.
 * @param given RFC 3339; undefined: now
 */
export function storedTime(field: string, given: string | undefined, now: Date): StoredTime | RideTimesIssue {
  const at = given === undefined ? now : new Date(given);
  const aheadMs = at.getTime() - now.getTime();
  if (aheadMs > CLOCK_TOLERANCE_MS) return ["inFuture", { field, limitSeconds: CLOCK_TOLERANCE_MS / 1000 }];
  return aheadMs > 0 ? movedTime(field, at, now) : { at, isNow: given === undefined, warning: undefined };
}

function movedTime(field: string, given: Date, at: Date): StoredTime {
  const seconds = Math.ceil((given.getTime() - at.getTime()) / 1000);
  return { at, isNow: true, warning: ["clockAhead", { field, seconds, stored: at.toISOString() }] };
}

/**
 * The end to store of a ride. An end of now is not before the start: what started a ride may have another clock, and a ride
 * whose end is refused stays under way.
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

export function isIssue(stored: StoredTime | RideTimesIssue): stored is RideTimesIssue {
  return Array.isArray(stored);
}

/** The earliest time at which a ride can have started: before it nobody wrote rides down, so the date is wrong. */
export const EARLIEST_START = Date.parse("1970-01-01T00:00:00.000Z");

/** Most seconds that a ride can have lasted: what the database's integers hold, 68 years. */
const LONGEST_RIDE_SECONDS = 2 ** 31 - 1;

/** Which message of `invalid_parameter` says what is wrong with a ride's times. */
export type RideTimesIssue = MessageArguments<"invalid_parameter">;

/**
 * What is wrong with a ride's start and end; undefined when nothing is. All in milliseconds since 1970.
 * @param endField what the end is called where it came from
 */
function rideTimesIssue(startedAt: number, endedAt: number, endField: string): RideTimesIssue | undefined {
  if (startedAt < EARLIEST_START) return ["startBefore1970"];
  if (endedAt < startedAt) return ["endBeforeStart", { field: endField, startedAt: new Date(startedAt).toISOString() }];
  if ((endedAt - startedAt) / 1000 > LONGEST_RIDE_SECONDS)
    return ["endTooLate", { field: endField, limit: LONGEST_RIDE_SECONDS }];
  return undefined;
}

/*
 * Whether a repeated command says what is stored. What it leaves out it does not contradict, but for the end station: left
 * out, that means outside a station. A distance or a category of `null` contradicts nothing either. A time that lay ahead of
 * the server's clock was stored as the time of its arrival, and is no other time when it comes again.
 */

export function isSameStart(ride: RideState, item: RideStart): boolean {
  return (
    ride.bike_id === item.bike_id &&
    isSameTime(ride.started_at, item.started_at, isTimeOfWrite(ride.started_at, ride)) &&
    (item.start_station_id === undefined || item.start_station_id === ride.start_station_id) &&
    (item.rider_category ?? ride.rider_category) === ride.rider_category &&
    (item.reservation_id ?? ride.reservation_id) === ride.reservation_id
  );
}

export function isSameEnd(ride: RideState, item: RideEnd): boolean {
  return (
    isSameTime(ride.ended_at, item.ended_at, isTimeOfWrite(ride.ended_at, ride)) &&
    (item.end_station_id ?? null) === ride.end_station_id &&
    (item.distance_meters ?? ride.distance_meters) === ride.distance_meters &&
    (item.end_reason ?? ride.end_reason) === ride.end_reason
  );
}

export function isSameCancel(ride: RideState, item: RideCancel): boolean {
  return isSameTime(ride.ended_at, item.cancelled_at, isTimeOfWrite(ride.ended_at, ride));
}

function isTimeOfWrite(time: Date | null, { updated_at: updatedAt }: RideState): boolean {
  return time !== null && time.getTime() === updatedAt?.getTime();
}

/** @param mayBeAhead whether the stored time may stand for a given one that lay ahead of the clock */
function isSameTime(stored: Date | null, given: string | undefined, mayBeAhead: boolean): boolean {
  if (given === undefined) return true;
  if (stored === null) return false;
  const aheadMs = Date.parse(given) - stored.getTime();
  return aheadMs === 0 || (mayBeAhead && aheadMs > 0 && aheadMs <= CLOCK_TOLERANCE_MS);
}

/** Whether two rides of a bike overlap; each from its start up to its end, or for as long as it has none. */
export function doOverlap(a: RideTimes, b: RideTimes): boolean {
  return beginsBeforeEnd(a, b) && beginsBeforeEnd(b, a);
}

function beginsBeforeEnd(a: RideTimes, b: RideTimes): boolean {
  return b.ended_at === null || a.started_at < b.ended_at;
}

/** The message about a ride that overlaps with another one. */
export function overlapIssue(other: RideState): MessageArguments<"ride_conflict"> {
  return ["overlap", { rideId: other.id, stored: describeRide(other) }];
}

/** What is stored of a ride, in words: for whoever is refused because of it. */
export function describeRide(ride: RideState): string {
  const start = `bike ${ride.bike_id}, started ${timeText(ride.started_at)} ${locationText(ride.start_station_id)}`;
  if (ride.ended_at === null) return `${start}, not over`;
  if (ride.status === "cancelled") return `${start}, cancelled ${timeText(ride.ended_at)}`;
  const distance = ride.distance_meters === null ? "" : `, ${ride.distance_meters} m`;
  const reason = ride.end_reason === null ? "" : `, ${ride.end_reason}`;
  return `${start}, ended ${timeText(ride.ended_at)} ${locationText(ride.end_station_id)}${distance}${reason}`;
}

function timeText(date: Date): string {
  return `at ${date.toISOString()}`;
}

function locationText(stationId: string | null): string {
  return stationId === null ? "outside a station" : `at station ${stationId}`;
}
