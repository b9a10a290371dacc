import type { Ride } from "../json-types.generated.ts";
import { type City, instant } from "./city.ts";
import { blank } from "./contract.generated.ts";
import {
  doOverlap,
  endReasonAt,
  errorMessage,
  isIssue,
  type RideCommand,
  rideLength,
  type RideSpan,
  type RideStatus,
  rideTransitions,
  startBeside,
  storedEnd,
  storedTime,
} from "./rules.ts";

/* Rides in a fake's city: their fields, and the times that a command may give them. operator.ts carries the commands out. */

/** The fields of a ride. The defaults describe a completed ride of ten minutes that ended just now. */
export type RideFields = Partial<Ride> & Pick<Ride, "id" | "bike_id">;

/** The start of a ride. The bike must be free, or held by the reservation that the ride fulfils. */
export interface RideStart extends Pick<Ride, "bike_id"> {
  /** Default: a new id. */
  readonly id?: string;
  readonly rider_category?: Ride["rider_category"];
}

/** The end of a ride. Without `end_station_id` it ends outside a station. */
export interface RideEnd extends Pick<Ride, "id"> {
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
  readonly end_reason?: Ride["end_reason"];
}

/** The correction of a completed ride. Omitted fields stay as they were. */
export interface RideCorrection extends Pick<Ride, "id"> {
  readonly ended_at?: string;
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
}

const TEN_MINUTES_MS = 600_000;

/** Returns a whole ride, with all values that follow from the given fields. */
export function newRide({ now, bikes }: City, fields: RideFields): Ride {
  const { bike_id, status = "completed", end_station_id = null } = fields;
  const started_at = instant(fields.started_at ?? now() - TEN_MINUTES_MS);
  const vehicle_type_id = bikes.get(bike_id)?.reported.vehicle_type_id ?? null;
  const ride = { ...blank.Ride, status, started_at, vehicle_type_id, updated_at: started_at };
  if (status === "started") return { ...ride, ...fields };
  const ended_at = instant(fields.ended_at ?? Math.min(now(), Date.parse(started_at) + TEN_MINUTES_MS));
  // `end_reason` stays null for a past ride that ended outside a station, because the reason is unknown.
  const end_reason = status === "cancelled" ? "cancelled" : end_station_id && endReasonAt(end_station_id);
  return { ...ride, ...endOf(started_at, ended_at), end_reason, updated_at: ended_at, ...fields };
}

/** Returns the fields of a ride that follow from its end. */
export function endOf(startedAt: string, ended_at: string) {
  return { ended_at, ...rideLength(Date.parse(startedAt), Date.parse(ended_at)) };
}

/** Returns a ride, and its status after a command. @throws Error if the command is not possible */
export function rideFor({ rides }: City, id: string, command: RideCommand): { ride: Ride; status: RideStatus } {
  const ride = rides.get(id);
  const status = rideTransitions[(ride?.status ?? "none") as RideStatus | "none"][command];
  if (ride !== undefined && status !== "same" && status !== "conflict" && status !== "missing") return { ride, status };
  throw new Error(`ride ${id} is ${ride?.status ?? "not there"}`);
}

/** Tells whether the ride's bike has completed another ride since this completed ride ended. */
export function hasEndedSince({ rides }: City, { id, bike_id, ended_at }: Ride): boolean {
  const end = Date.parse(ended_at ?? "");
  const others = [...rides.values()].filter((ride) => ride.bike_id === bike_id && ride.id !== id);
  return others.some((ride) => ride.status === "completed" && Date.parse(ride.ended_at ?? "") >= end);
}

/**
 * Returns the time of a ride that starts now. It is not before the end of the bike's previous ride.
 * @throws Error when another ride of the bike is under way, or ends more than 5 minutes from now
 */
export function startOf(city: City, id: string, bikeId: string): string {
  const now = new Date(city.now());
  const time = storedTime("started_at", undefined, now);
  if (isIssue(time)) throw new Error(errorMessage("invalid_parameter", ...time));
  const others = ridesBeside(city, { id, bike_id: bikeId }, { started_at: now, ended_at: null });
  const start = startBeside(time, others);
  if ("id" in start) throw overlapError(start.id);
  return start.toISOString();
}

/**
 * Returns the corrected end of a completed ride. An end up to 5 minutes in the future becomes now, as in the service.
 * @throws Error for an invalid end, or when the ride would overlap with a later ride of the bike
 */
export function correctedEnd(city: City, ride: Ride, given: string): string {
  const end = storedEnd(new Date(ride.started_at), "ended_at", given, new Date(city.now()));
  if (isIssue(end)) throw new Error(errorMessage("invalid_parameter", ...end));
  const before = new Date(ride.ended_at ?? end.at);
  const meanwhile = end.at <= before ? [] : ridesBeside(city, ride, { started_at: before, ended_at: end.at });
  // Rides that began before the stored end are ignored, because the ride overlaps with them already.
  const other = meanwhile.find(({ started_at }) => started_at >= before);
  if (other !== undefined) throw overlapError(other.id);
  return end.at.toISOString();
}

/** Returns other rides of a bike that overlap with a time span. Cancelled rides do not count. */
function ridesBeside({ rides }: City, { id, bike_id }: Pick<Ride, "id" | "bike_id">, span: RideSpan) {
  return [...rides.values()]
    .filter((ride) => ride.bike_id === bike_id && ride.id !== id && ride.status !== "cancelled")
    .map((ride) => ({
      id: ride.id,
      started_at: new Date(ride.started_at),
      ended_at: ride.ended_at === null ? null : new Date(ride.ended_at),
    }))
    .filter((ride) => doOverlap(ride, span));
}

function overlapError(rideId: string): Error {
  return new Error(`the bike cannot be on two rides at once: ride ${rideId} overlaps`);
}
