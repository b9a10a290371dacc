import type { MessageArguments, RideCancel, RideEnd, RideStart } from "@bikeshare/contract";
import type { RideState } from "./ride-queries.ts";

/**
 * Milliseconds by which a time may lie ahead of the server's clock: what clocks of well-kept machines differ by. More and a
 * wrong clock goes unnoticed; less and honest reports are refused.
 */
const CLOCK_TOLERANCE_MS = 60_000;

/** Whether a time lies in the future, beyond what clocks differ by. All in milliseconds since 1970. */
export function isInFuture(instant: number, now: number): boolean {
  return instant > now + CLOCK_TOLERANCE_MS;
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
export function rideTimesIssue(
  startedAt: number,
  endedAt: number,
  now: number,
  endField: string,
): RideTimesIssue | undefined {
  if (isInFuture(endedAt, now)) return ["inFuture", { field: endField }];
  if (startedAt < EARLIEST_START) return ["startBefore1970"];
  if (endedAt < startedAt) return ["endBeforeStart", { field: endField, startedAt: new Date(startedAt).toISOString() }];
  if ((endedAt - startedAt) / 1000 > LONGEST_RIDE_SECONDS)
    return ["endTooLate", { field: endField, limit: LONGEST_RIDE_SECONDS }];
  return undefined;
}

/*
 * Whether a repeated command says what is stored. What it leaves out it does not contradict, but for the end station: left
 * out, that means outside a station. A distance or a category of `null` contradicts nothing either.
 */

export function isSameStart(ride: RideState, item: RideStart): boolean {
  return (
    ride.bike_id === item.bike_id &&
    isSameTime(ride.started_at, item.started_at) &&
    (item.start_station_id === undefined || item.start_station_id === ride.start_station_id) &&
    (item.rider_category ?? ride.rider_category) === ride.rider_category &&
    (item.reservation_id ?? ride.reservation_id) === ride.reservation_id
  );
}

export function isSameEnd(ride: RideState, item: RideEnd): boolean {
  return (
    isSameTime(ride.ended_at, item.ended_at) &&
    (item.end_station_id ?? null) === ride.end_station_id &&
    (item.distance_meters ?? ride.distance_meters) === ride.distance_meters &&
    (item.end_reason ?? ride.end_reason) === ride.end_reason
  );
}

export function isSameCancel(ride: RideState, item: RideCancel): boolean {
  return isSameTime(ride.ended_at, item.cancelled_at);
}

function isSameTime(stored: Date | null, said: string | undefined): boolean {
  return said === undefined || stored?.getTime() === Date.parse(said);
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
