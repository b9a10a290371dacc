import { isWebhookVerificationError, verify } from "@bikeshare/webhooks";

/** The status to answer a delivery with. */
export async function receive(body: Uint8Array, signature: string | null, secret: string): Promise<number> {
  try {
    const delivery = await verify(body, signature, secret);
    if (delivery.event === "ride.completed") {
      await billRide(delivery.data.id, delivery.data.duration_seconds); // `data` is a ride here
    }
    return 200;
  } catch (error) {
    if (!isWebhookVerificationError(error)) throw error;
    return 400; // error.reason: "timestamp_too_old", "no_matching_signature", …
  }
}

const bills = new Map<string, number | null>();

async function billRide(rideId: string, seconds: number | null): Promise<void> {
  bills.set(rideId, seconds); // once for each ride, however often it is delivered
}
