import type { Delivery } from "@bikeshare/webhooks";

/** What your own code does. */
export interface Actions {
  bill(rideId: string, seconds: number | null): Promise<void>;
  release(bikeId: string): Promise<void>;
}

/** Works on one delivery from the inbox. */
export async function work(delivery: Delivery, { bill, release }: Actions): Promise<void> {
  switch (delivery.event) {
    case "ride.completed":
      return bill(delivery.data.id, delivery.data.duration_seconds);
    case "reservation.expired":
    case "reservation.cancelled":
      return release(delivery.data.bike_id);
    default: // an event that you have no use for, or one that is newer than your code
  }
}
