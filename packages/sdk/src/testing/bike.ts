import type { Bike } from "../wire.generated.ts";
import type { BikeState } from "./city.ts";

/** How a bike is shown. Where a rider is, is shown to nobody. */
export function viewOf({ reported, rideId, reservationId }: BikeState): Bike {
  const isOnTrip = rideId !== null || reported.vehicle_state === "on_trip";
  if (isOnTrip) return { ...reported, vehicle_state: "on_trip", station_id: null, lat: null, lon: null };
  const isHeld = reservationId !== null && reported.vehicle_state === "available";
  return isHeld ? { ...reported, vehicle_state: "reserved" } : reported;
}

/** Whether nobody rides or holds the bike, and it can be ridden. */
export function isFree(bike: BikeState): boolean {
  return bike.rideId === null && bike.reservationId === null && bike.reported.vehicle_state === "available";
}
