import type { DeliveryOf, KnownDelivery } from "../webhooks.ts";
import type { Bike, Reservation, Ride, Station } from "../wire.generated.ts";
import { viewOf } from "./bike.ts";
import { putBike } from "./bikes.ts";
import { type City, createCity } from "./city.ts";
import type { Clock } from "./clock.ts";
import { DEFAULT_MAX_RESERVATIONS } from "./contract.generated.ts";
import type { FakePartner } from "./keys.ts";
import { putReservation } from "./reservations.ts";
import { putRide } from "./rides.ts";
import { putStation, takeOffline } from "./stations.ts";

/** What can be delivered: every event, and the notices that the list of events leaves out. */
export type DeliveryName = KnownDelivery["event"];

/** What a delivery of a name carries, in a small city of its own: the same verbs as the fake's own make it. */
export function exampleData<Name extends DeliveryName>(
  name: Name,
  now: Clock,
  partner: FakePartner,
): DeliveryOf<Name>["data"] {
  const city = createCity(now, partner, DEFAULT_MAX_RESERVATIONS);
  putStation(city, { id: "station_1", name: "City Hall" });
  putBike(city, { id: "bike_1", station_id: "station_1", vehicle_type_id: "classic" });
  const [resource = "", change = ""] = name.split(".");
  return makers[resource]?.(city, change) as DeliveryOf<Name>["data"]; // The table's names are those of the resources.
}

const makers: Readonly<
  Record<string, (city: City, change: string) => Station | Ride | Bike | Reservation | undefined>
> = {
  station(city, change) {
    if (change === "offline") takeOffline(city, "station_1");
    return city.stations.get("station_1")?.shown;
  },
  bike(city) {
    const bike = city.bikes.get("bike_1");
    return bike && viewOf(bike);
  },
  ride(city, change) {
    const status = change === "corrected" ? "completed" : change;
    const end = status === "completed" ? { end_station_id: "station_1", distance_meters: 1800 } : {};
    putRide(city, { id: "ride_1", bike_id: "bike_1", status, start_station_id: "station_1", ...end });
    return city.rides.get("ride_1");
  },
  reservation(city, change) {
    const ends = {
      cancelled: { cancel_reason: "partner", cancelled_at: new Date(city.now()).toISOString() },
      fulfilled: { ride_id: "ride_1" },
    };
    const end = change === "cancelled" || change === "fulfilled" ? ends[change] : {};
    const status = change === "created" ? "active" : change;
    putReservation(city, { id: "reservation_1", bike_id: "bike_1", status, ...end });
    return city.reservations.get("reservation_1")?.shown;
  },
};
