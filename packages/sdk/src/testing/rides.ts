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

/** A ride as it is described. What is left out is filled in: a completed ride of ten minutes that ended just now. */
export type RideFields = Partial<Ride> & Pick<Ride, "id" | "bike_id">;

/** What a ride begins with: a bike that is free, or held by the reservation that the ride fulfils. */
export interface RideStart extends Pick<Ride, "bike_id"> {
  /** A new one if not said. */
  readonly id?: string;
  readonly rider_category?: Ride["rider_category"];
}

/** How a ride ends. Without a station it ends outside one. */
export interface RideEnd extends Pick<Ride, "id"> {
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
  readonly end_reason?: Ride["end_reason"];
}

/** What was wrong with a ride that has ended. What is left out stays as it was. */
export interface RideCorrection extends Pick<Ride, "id"> {
  readonly ended_at?: string;
  readonly end_station_id?: string | null;
  readonly distance_meters?: number | null;
}

const TEN_MINUTES_MS = 600_000;

/** A ride with everything that follows from what is said of it. */
export function newRide({ now, bikes }: City, fields: RideFields): Ride {
  const { bike_id, status = "completed", end_station_id = null } = fields;
  const started_at = instant(fields.started_at ?? now() - TEN_MINUTES_MS);
  const vehicle_type_id = bikes.get(bike_id)?.reported.vehicle_type_id ?? null;
  const ride = { ...blank.Ride, status, started_at, vehicle_type_id, updated_at: started_at };
  if (status === "started") return { ...ride, ...fields };
  const ended_at = instant(fields.ended_at ?? Math.min(now(), Date.parse(started_at) + TEN_MINUTES_MS));
  // Of history, nobody knows why it ended elsewhere than at a station.
  const end_reason = status === "cancelled" ? "cancelled" : end_station_id && endReasonAt(end_station_id);
  return { ...ride, ...endOf(started_at, ended_at), end_reason, updated_at: ended_at, ...fields };
}

/** What of a ride follows from when it ended. */
export function endOf(startedAt: string, ended_at: string) {
  return { ended_at, ...rideLength(Date.parse(startedAt), Date.parse(ended_at)) };
}

/** A ride as a command finds it, and the status that the command gives it. @throws Error when it is not possible */
export function rideFor({ rides }: City, id: string, command: RideCommand): { ride: Ride; status: RideStatus } {
  const ride = rides.get(id);
  const status = rideTransitions[(ride?.status ?? "none") as RideStatus | "none"][command];
  if (ride !== undefined && status !== "same" && status !== "conflict" && status !== "missing") return { ride, status };
  throw new Error(`ride ${id} is ${ride?.status ?? "not there"}`);
}

/** Whether a ride's bike has ended another one since. */
export function hasEndedSince({ rides }: City, { id, bike_id, ended_at }: Ride): boolean {
  const end = Date.parse(ended_at ?? "");
  const others = [...rides.values()].filter((ride) => ride.bike_id === bike_id && ride.id !== id);
  return others.some((ride) => ride.status === "completed" && Date.parse(ride.ended_at ?? "") >= end);
}

/**
 * When a ride of a bike starts that starts now: not before the end of the ride before.
 * @throws Error when another ride of the bike is later
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
 * When a completed ride ended, by its correction. One up to 5 minutes ahead of the clock is now, as at the service.
 * @throws Error when that cannot be, or another ride of the bike began before
 */
export function correctedEnd(city: City, ride: Ride, given: string): string {
  const end = storedEnd(new Date(ride.started_at), "ended_at", given, new Date(city.now()));
  if (isIssue(end)) throw new Error(errorMessage("invalid_parameter", ...end));
  const before = new Date(ride.ended_at ?? end.at);
  const meanwhile = end.at <= before ? [] : ridesBeside(city, ride, { started_at: before, ended_at: end.at });
  // With a ride that began before the stored end it overlaps already, and may all the same be corrected.
  const other = meanwhile.find(({ started_at }) => started_at >= before);
  if (other !== undefined) throw overlapError(other.id);
  return end.at.toISOString();
}

/** Other rides of a bike that overlap with a time; cancelled ones did not come about. */
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
