import { createReceiver } from "@bikeshare/webhooks/fetch";
import type { Inbox } from "./inbox.ts";

/** Bun.serve({ fetch }), Deno.serve(fetch), export default { fetch }, export const POST = fetch … */
export function createFetch(secret: string, inbox: Inbox): (request: Request) => Promise<Response> {
  return createReceiver({ secrets: secret, onDelivery: (delivery) => inbox.add(delivery) });
}
