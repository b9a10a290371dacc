import type { RideCancel, RideEnd, RideStart } from "@bikeshare/contract";
import type { LiveRide } from "./ride-queries.ts";

/** What is stored of a ride, as far as commands say it too. */
export type StoredRide = Omit<LiveRide, "id">;

/*
 * Whether a command that comes again says what is stored. What a command leaves out it does not contradict, but for the
 * end station: left out it means a place outside a station. `null` of a distance or a category says nothing either.
 */

export function isSameStart(ride: StoredRide, item: RideStart): boolean {
  return (
    ride.bike_id === item.bike_id &&
    isSameInstant(ride.started_at, item.started_at) &&
    (item.start_station_id === undefined || item.start_station_id === ride.start_station_id) &&
    (item.rider_category ?? ride.rider_category) === ride.rider_category &&
    (item.reservation_id ?? ride.reservation_id) === ride.reservation_id
  );
}

export function isSameEnd(ride: StoredRide, item: RideEnd): boolean {
  return (
    isSameInstant(ride.ended_at, item.ended_at) &&
    (item.end_station_id ?? null) === ride.end_station_id &&
    (item.distance_meters ?? ride.distance_meters) === ride.distance_meters &&
    (item.end_reason ?? ride.end_reason) === ride.end_reason
  );
}

export function isSameCancel(ride: StoredRide, item: RideCancel): boolean {
  return isSameInstant(ride.ended_at, item.cancelled_at);
}

function isSameInstant(stored: Date | null, said: string | undefined): boolean {
  return said === undefined || stored?.getTime() === Date.parse(said);
}

/** What is stored of a ride, in words: for whoever was refused because of it. */
export function describeRide(ride: StoredRide): string {
  const start = `bike ${ride.bike_id}, started ${instant(ride.started_at)} ${place(ride.start_station_id)}`;
  if (ride.ended_at === null) return `${start}, not over`;
  if (ride.status === "cancelled") return `${start}, cancelled ${instant(ride.ended_at)}`;
  const distance = ride.distance_meters === null ? "" : `, ${ride.distance_meters} m`;
  const reason = ride.end_reason === null ? "" : `, ${ride.end_reason}`;
  return `${start}, ended ${instant(ride.ended_at)} ${place(ride.end_station_id)}${distance}${reason}`;
}

function instant(date: Date): string {
  return `at ${date.toISOString()}`;
}

function place(stationId: string | null): string {
  return stationId === null ? "outside a station" : `at station ${stationId}`;
}
