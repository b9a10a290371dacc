import type { MessageArguments, RideCancel, RideEnd, RideStart } from "@bikeshare/contract";
import { mayBeStoredAs } from "@bikeshare/rules";
import type { RideState } from "./ride-queries.ts";

/*
 * The `isSame…` functions tell whether a repeated command agrees with the stored ride. An omitted field agrees with any
 * value, except the end station: without one the ride ended outside a station. `null` agrees with any value, too, except
 * for stations.
 *
 * If a command gave a time ahead of the server's clock, the ride has the time of the command's arrival instead. A
 * repeated command with such a time agrees only while the stored time is also the ride's `updated_at`: after a later
 * write nothing shows that the time was replaced.
 */

export function isSameStart(ride: RideState, item: RideStart): boolean {
  return (
    ride.bike_id === item.bike_id &&
    isSameTime(ride.started_at, item.started_at, isTimeOfWrite(ride.started_at, ride)) &&
    (item.start_station_id === undefined || item.start_station_id === ride.start_station_id) &&
    (item.rider_category ?? ride.rider_category) === ride.rider_category &&
    (item.reservation_id ?? ride.reservation_id) === ride.reservation_id &&
    (item.special_group ?? ride.special_group) === ride.special_group
  );
}

export function isSameEnd(ride: RideState, item: RideEnd): boolean {
  return (
    isSameTime(ride.ended_at, item.ended_at, isTimeOfWrite(ride.ended_at, ride)) &&
    (item.end_station_id ?? null) === ride.end_station_id &&
    (item.distance_meters ?? ride.distance_meters) === ride.distance_meters &&
    (item.end_reason ?? ride.end_reason) === ride.end_reason &&
    COSTS.every((field) => (item[field] ?? ride[field]) === ride[field])
  );
}

/** The fields of a ride's cost, named as in MDS. */
export const COSTS = ["standard_cost", "actual_cost", "currency"] as const;

/** Returns a ride's costs after a command. @param before the values of fields that the command leaves out */
export function costsOf(
  item: Pick<RideEnd, (typeof COSTS)[number]>,
  before: Pick<RideState, (typeof COSTS)[number]> = { standard_cost: null, actual_cost: null, currency: null },
): Pick<RideState, (typeof COSTS)[number]> {
  return {
    standard_cost: item.standard_cost === undefined ? before.standard_cost : item.standard_cost,
    actual_cost: item.actual_cost === undefined ? before.actual_cost : item.actual_cost,
    currency: item.currency === undefined ? before.currency : item.currency,
  };
}

export function isSameCancel(ride: RideState, item: RideCancel): boolean {
  return isSameTime(ride.ended_at, item.cancelled_at, isTimeOfWrite(ride.ended_at, ride));
}

/** Tells whether a time of a ride is that of its last write, and so may be the arrival of a command ahead of the clock. */
function isTimeOfWrite(time: Date | null, { updated_at: updatedAt }: RideState): boolean {
  return time !== null && time.getTime() === updatedAt?.getTime();
}

/** @param mayBeAhead whether the stored time may be the arrival of a command whose time lay ahead of the server's clock */
function isSameTime(stored: Date | null, given: string | undefined, mayBeAhead: boolean): boolean {
  if (given === undefined) return true;
  if (stored === null) return false;
  const time = new Date(given);
  return time.getTime() === stored.getTime() || (mayBeAhead && mayBeStoredAs(stored, time));
}

/** Returns the message about a ride that overlaps with another one. */
export function overlapIssue(other: RideState): MessageArguments<"ride_conflict"> {
  return ["overlap", { rideId: other.id, stored: describeRide(other) }];
}

/** Returns a description of a stored ride, for the error of a request that conflicts with it. */
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
