import type { Delivery } from "@bikeshare/webhooks";
import { Webhook } from "standardwebhooks";

/** The delivery in a request, or an error if it is not one of the service. */
export async function readDelivery(request: Request, secret: string): Promise<Delivery> {
  const body = await request.text(); // raw, before any JSON parser
  return new Webhook(secret).verify(body, Object.fromEntries(request.headers)) as Delivery;
}
