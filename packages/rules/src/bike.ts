/** The facts that decide a bike's shown state: its ride, its reservation, and its last report. */
export interface BikeFacts<ReportedState extends string = string> {
  readonly ride_id: string | null;
  readonly reservation_id: string | null;
  readonly reported_state: ReportedState;
  readonly reported_station_id: string | null;
  readonly reported_lat: number | null;
  readonly reported_lon: number | null;
}

/** A bike's state as partners see it. */
export interface BikeView<ReportedState extends string = string> {
  readonly vehicle_state: ReportedState | "on_trip" | "reserved";
  readonly station_id: string | null;
  readonly lat: number | null;
  readonly lon: number | null;
}

/** Returns a bike's state as partners see it. It has no location during a ride, because that would be the rider's. */
export function viewOf<ReportedState extends string>(facts: BikeFacts<ReportedState>): BikeView<ReportedState> {
  if (facts.ride_id !== null) return { vehicle_state: "on_trip", station_id: null, lat: null, lon: null };
  // A reserved bike that is reported as broken or missing is shown so, because the rider cannot use it.
  const isHeld = facts.reservation_id !== null && facts.reported_state === "available";
  return {
    vehicle_state: isHeld ? "reserved" : facts.reported_state,
    station_id: facts.reported_station_id,
    lat: facts.reported_lat,
    lon: facts.reported_lon,
  };
}

/** The facts that decide whether a bike can be taken. */
export interface TakeableBike {
  /** The state as partners see it. */
  readonly vehicle_state: string;
  readonly ride_id: string | null;
  readonly reservation_id: string | null;
}

/** Tells whether a bike can be ridden, and is neither on a ride nor reserved. */
export function isFree(bike: TakeableBike): boolean {
  return bike.vehicle_state === "available" && bike.ride_id === null && bike.reservation_id === null;
}
