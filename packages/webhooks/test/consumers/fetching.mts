// Compiled with the browser's types and without Node's.
import { createReceiver } from "@bikeshare/webhooks/fetch";
import type { ReceiverOptions } from "@bikeshare/webhooks/fetch";
import { createTestDelivery, signedRequest } from "@bikeshare/webhooks/testing";

const options: ReceiverOptions = {
  secrets: ["a", "b"],
  onDelivery: async ({ event }) => void event,
  seen: () => false,
};
const receive: (request: Request) => Promise<Response> = createReceiver(options);

export async function test(): Promise<Response> {
  const { delivery } = await signedRequest({ event: "ride.completed", data: { id: "ride-7" } });
  const distance: number | null = delivery.data.distance_meters;
  const { request, headers } = await signedRequest({ event: "newer.than.this", data: { n: distance } });
  const header: string = headers["Service-Signature"];
  // @ts-expect-error -- a ride has no such field
  createTestDelivery({ event: "ride.completed", data: { name: header } });
  return receive(request);
}
