import type { Bike } from "@bikeshare/contract";

/** What a feed says of a vehicle: GBFS's `free_bike_status` or `vehicle_status`. */
export interface VehicleReport {
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly is_reserved: boolean;
  readonly is_disabled: boolean;
  readonly station_id: string | null;
  /** WGS 84 degrees; undefined where the feed names only the station it stands at. */
  readonly position: Position | undefined;
  readonly current_range_meters: number | null;
  /** Milliseconds since 1970. */
  readonly last_reported: number | null;
}

export interface Position {
  readonly lat: number;
  readonly lon: number;
}

/** A bike's fields that a feed decides. */
export interface MirroredBike {
  readonly number: string | null;
  readonly vehicle_type_id: string | null;
  readonly vehicle_state: Bike["vehicle_state"];
  readonly station_id: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
  readonly current_range_meters: number | null;
  readonly last_reported: number | null;
}

/** The MDS state that GBFS's two flags mean. A bike that cannot be ridden is so whether it is held or not. */
export function vehicleState(flags: Pick<VehicleReport, "is_disabled" | "is_reserved">): Bike["vehicle_state"] {
  if (flags.is_disabled) return "non_operational";
  return flags.is_reserved ? "reserved" : "available";
}

/**
 * Whether a feed's word on a bike counts. While we know of its ride the ride decides (the feed may be older than
 * the ride's start), and what the operator removed stays removed.
 */
export function followsFeed(state: Bike["vehicle_state"]): boolean {
  return state !== "on_trip" && state !== "removed";
}

/**
 * The bike that a vehicle's report makes.
 * @param station where the station it names stands: its place when the feed gives none, since a partner who draws
 *   a map should not need a second look-up. Unknown too: null.
 */
export function bikeFromReport(report: VehicleReport, station: Position | undefined): MirroredBike {
  const place = report.position ?? station;
  return {
    number: report.number,
    vehicle_type_id: report.vehicle_type_id,
    vehicle_state: vehicleState(report),
    station_id: report.station_id,
    lat: place?.lat ?? null,
    lon: place?.lon ?? null,
    current_range_meters: report.current_range_meters,
    last_reported: report.last_reported,
  };
}

/** States that a bike can be reported in; the others follow from rides and reservations. */
export type ReportedState = Exclude<Bike["vehicle_state"], "reserved" | "on_trip">;

/** Something that was so at an instant (milliseconds since 1970; null: since ever). */
export interface Dated<Value> {
  readonly at: number | null;
  readonly value: Value;
}

/**
 * What holds when a report meets what is held: the later of the two. Of two for one instant, the one whose JSON is
 * greater: any rule would do that does not ask which arrived first.
 */
export function later<Value>(held: Dated<Value>, reported: Dated<Value>): Dated<Value> {
  const heldAt = held.at ?? Number.NEGATIVE_INFINITY;
  const reportedAt = reported.at ?? Number.NEGATIVE_INFINITY;
  if (reportedAt !== heldAt) return reportedAt > heldAt ? reported : held;
  return JSON.stringify(reported.value) > JSON.stringify(held.value) ? reported : held;
}
