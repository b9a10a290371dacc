/** The name of every event in the events list. Names are added over time, so clients must accept unknown ones. */
export const eventNames = [
  "ride.started",
  "ride.completed",
  "ride.cancelled",
  "ride.corrected",
  "station.offline",
  "station.online",
  "reservation.created",
  "reservation.cancelled",
  "reservation.expired",
  "reservation.fulfilled",
  "alert.opened",
  "alert.ended",
  "station.below_threshold",
  "station.back_to_normal",
] as const;

export type EventName = (typeof eventNames)[number];

/** The name of everything that a webhook can deliver: the events of the list, then the notices. */
export const deliveryNames = [...eventNames, "station.updated", "bike.state_changed"] as const;

export type DeliveryName = (typeof deliveryNames)[number];
