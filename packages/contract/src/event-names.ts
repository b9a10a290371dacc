/** The name of every event of the list. Clients must accept names they do not know: we only ever add. */
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

/** The name of everything that can be delivered: the list's events first. */
export const deliveryNames = [...eventNames, "station.updated", "bike.state_changed"] as const;

export type DeliveryName = (typeof deliveryNames)[number];
