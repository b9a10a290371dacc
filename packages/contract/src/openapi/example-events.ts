import type { Delivery, DeliveryName, EventName } from "../events.ts";
import {
  cancelledReservation,
  cancelledRide,
  correctedRide,
  exampleBike,
  exampleReservation,
  exampleRide,
  exampleStation,
  expiredReservation,
  fulfilledReservation,
  startedRide,
} from "./example-resources.ts";

type Data = { readonly [Name in DeliveryName]: Delivery<Name>["data"] };

const data: Data = {
  "ride.started": startedRide,
  "ride.completed": exampleRide,
  "ride.cancelled": cancelledRide,
  "ride.corrected": correctedRide,
  "station.offline": {
    ...exampleStation,
    status: "offline",
    offline_reason: "operator",
    is_renting: false,
    is_returning: false,
  },
  "station.online": exampleStation,
  "reservation.created": exampleReservation,
  "reservation.cancelled": cancelledReservation,
  "reservation.expired": expiredReservation,
  "reservation.fulfilled": fulfilledReservation,
  "station.updated": exampleStation,
  "bike.state_changed": exampleBike,
};

/** What `event` looks like in the list of events. */
export function exampleEvent<Name extends EventName>(event: Name) {
  return { id: "event_0VbeWjMMvbE2baG4Sgk6By", event, occurred_at: data[event].updated_at, data: data[event] };
}

/** What a delivery of `event` looks like. */
export function exampleDelivery<Name extends DeliveryName>(event: Name) {
  const occurredAt = data[event].updated_at;
  return {
    event,
    delivery_id: "delivery_0VbeWjMMvbE2baG4Sgk6ByQ7x1Zk",
    occurred_at: occurredAt,
    sent_at: new Date(Date.parse(occurredAt) + 120).toISOString(),
    data: data[event],
  };
}
