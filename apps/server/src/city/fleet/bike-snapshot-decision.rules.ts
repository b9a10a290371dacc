import type { Bike } from "@bikeshare/contract";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { Position } from "./bike.rules.ts";

/** A feed's report of a vehicle: GBFS's `free_bike_status` or `vehicle_status`. */
export interface VehicleReport {
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly is_reserved: boolean;
  readonly is_disabled: boolean;
  readonly station_id: string | null;
  /** WGS 84 degrees; undefined where the feed names only the bike's station. */
  readonly position: Position | undefined;
  readonly current_range_meters: number | null;
  /** Compact JSON of GBFS's optional fields that have no column: two that are equal are the same text. */
  readonly source_facts: string | null;
  /** Milliseconds since 1970. */
  readonly last_reported: number | null;
}

/** A bike's fields that a feed decides. */
export interface FeedBike extends Omit<VehicleReport, "is_reserved" | "is_disabled" | "position"> {
  readonly vehicle_state: Bike["vehicle_state"];
  readonly lat: number | null;
  readonly lon: number | null;
}

/** A bike's row, which a snapshot is compared with. Times in milliseconds since 1970. */
export interface BikeRow extends FeedBike, Pick<Tables["bikes"], "id" | "source" | "ride_id" | "reservation_id"> {
  /** When the bike was as it was last reported; null: only feeds have reported it. */
  readonly reported_at: number | null;
}

/** Returns the MDS state that GBFS's two flags mean. Disabled comes first: such a bike cannot be ridden, reserved or not. */
export function vehicleState(flags: Pick<VehicleReport, "is_disabled" | "is_reserved">): Bike["vehicle_state"] {
  if (flags.is_disabled) return "non_operational";
  return flags.is_reserved ? "reserved" : "available";
}

/**
 * Tells whether a feed decides on a bike. While a ride on it is known, the ride does (the feed may be older than the ride's
 * start), and a bike that the operator removed stays removed.
 */
export function followsFeed(state: Bike["vehicle_state"]): boolean {
  return state !== "on_trip" && state !== "removed";
}

/**
 * The bike that a vehicle's report describes.
 * @param station the position of the station that it names: the bike's where the feed gives none, so that a partner who
 *   draws a map needs no second request
 */
export function bikeFromReport(report: VehicleReport, station: Position | undefined): FeedBike {
  const { is_reserved, is_disabled, position = station, ...fields } = report;
  const vehicle_state = vehicleState({ is_reserved, is_disabled });
  return { ...fields, vehicle_state, lat: position?.lat ?? null, lon: position?.lon ?? null };
}

/**
 * The effect of a snapshot on a bike. `keep`: the snapshot names it, and nothing changes. `none`: the snapshot does not
 * name it, and nothing changes. `ownedByOther`: the snapshot names it, and it belongs to another source.
 */
export type BikeDecision = "keep" | "update" | "delete" | "ownedByOther" | "none";

/** The inputs of a decision about one bike, in addition to the bike's own row. */
export interface BikeSnapshotContext {
  readonly source: string;
  /** The snapshot's `last_updated`, milliseconds since 1970. */
  readonly at: number;
  /** Bikes named in records that could not be read. */
  readonly rejected: ReadonlySet<string>;
}

/**
 * Decides the effect of a snapshot on one bike. Pure.
 * @param wanted the bike in the snapshot; undefined when the snapshot does not name it
 */
export function decideBike(context: BikeSnapshotContext, row: BikeRow, wanted: FeedBike | undefined): BikeDecision {
  const stays = wanted ? "keep" : "none";
  if (row.source !== context.source) return wanted ? "ownedByOther" : "none";
  if (row.ride_id !== null || !followsFeed(row.vehicle_state)) return stays;
  // The bike was reported after the feed was made, for example by the end of a ride. The next snapshot may be newer.
  if (row.reported_at !== null && row.reported_at > context.at) return stays;
  // The feed may not know of the reservation: only a bike that cannot be ridden ends it.
  if (row.reservation_id !== null) return wanted?.vehicle_state === "non_operational" ? "update" : stays;
  if (!wanted) return context.rejected.has(row.id) ? "none" : "delete";
  return feedBikeFields.every((field) => row[field] === wanted[field]) ? "keep" : "update";
}

/** In the order in which statements write them. */
export const feedBikeFields = [
  "number",
  "vehicle_type_id",
  "vehicle_state",
  "station_id",
  "lat",
  "lon",
  "current_range_meters",
  "source_facts",
  "last_reported",
] as const satisfies (keyof FeedBike)[];
