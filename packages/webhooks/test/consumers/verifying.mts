// Compiled with the types of the language only: neither the browser's types nor Node's.
import { isWebhookVerificationError, sign, verify } from "@bikeshare/webhooks";
import type { Delivery, DeliveryOf, Ride, UnknownDelivery, VerificationFailure } from "@bikeshare/webhooks";
import type { NodeRequest } from "@bikeshare/webhooks/express";
import type { FastifyReceiverOptions } from "@bikeshare/webhooks/fastify";
import { signSync } from "@bikeshare/webhooks/node";

export async function receive(
  body: Uint8Array,
  header: string | undefined,
  secrets: readonly string[],
): Promise<string> {
  try {
    return summary(await verify(body, header, secrets, { toleranceSeconds: 60 }));
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    const reason: VerificationFailure = error.reason;
    return reason;
  }
}

function summary(delivery: Delivery): string {
  if (delivery.event === "ride.completed") return endOf(delivery.data);
  switch (delivery.event) {
    case "ride.started":
    case "ride.cancelled":
      return delivery.data.bike_id;
    case "station.offline":
      return delivery.data.offline_reason ?? delivery.data.name;
    case "reservation.created":
    case "reservation.cancelled":
    case "reservation.expired":
    case "reservation.fulfilled":
      return delivery.data.expires_at;
    case "station.online":
      return delivery.data.name;
    default:
      return delivery.event;
  }
}

function endOf(ride: Ride): string {
  return ride.end_station_id ?? "";
}

export const header: Promise<string> = sign({ body: "{}", secrets: "whsec_x", timestamp: 1 });
export const unknown = (delivery: UnknownDelivery): unknown => delivery.data;
export const completed = (delivery: DeliveryOf<"ride.completed">): Ride => delivery.data;
export const method = (request: NodeRequest): string | undefined => request.method;
export const path = (options: FastifyReceiverOptions): string | undefined => options.path;
export const atOnce: string = signSync({ body: new ArrayBuffer(2), secrets: ["whsec_x"], timestamp: 1 });
/** Checks at compile time that a station has no field `bike_id`. */
export const stationHasBike: "bike_id" extends keyof DeliveryOf<"station.online">["data"] ? true : false = false;
