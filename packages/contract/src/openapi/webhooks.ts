import { extendApi } from "@anatine/zod-openapi";
import { initContract } from "@ts-rest/core";
import { type DeliveryName, deliveryNames } from "../event-names.ts";
import { deliveryOf, STATION_NOTICE_SECONDS, eventSchemaName } from "../events.ts";
import type { Components, Operation, Parameter, PathItem, Response } from "./document.ts";
import { exampleDelivery } from "./example-resources.ts";
import { generate } from "./generate.ts";

/** The header that proves who sent a delivery. */
const signature: Parameter = {
  name: "Service-Signature",
  in: "header",
  required: true,
  description:
    "`t=<unix seconds>,v1=<hex>`: HMAC-SHA256, keyed with your endpoint's secret, over `t`, a dot and the raw bytes of " +
    "the body. While a secret is being rotated there are several `v1`: accept if any of them matches. Refuse a `t` far " +
    "from your own clock.",
  schema: {
    type: "string",
    examples: ["t=1773476504,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd"],
  },
};

/** What the responses of a partner's receiver mean. */
const receiverResponses: Record<string, Response> = {
  "2XX": { description: "Received. Answer at once and do your work afterwards." },
  "410": { description: "You want no more deliveries. Repeated, it pauses the endpoint." },
  default: { description: "Not received: the delivery is tried again later. Redirects are not followed." },
};

/** Every event as a webhook of OpenAPI 3.1, with the schemas of the deliveries. */
export function webhooks(): { readonly webhooks: Record<string, PathItem>; readonly schemas: Components["schemas"] } {
  const { paths, schemas } = generate(deliveries(), { bodies: "us" });
  const described = deliveryNames.map((event): [string, PathItem] => {
    const operation = paths[pathOf(event)]?.post;
    if (operation === undefined) throw new Error(`no webhook was generated for ${event}`);
    return [event, { post: describe(event, operation) }];
  });
  return { webhooks: Object.fromEntries(described), schemas };
}

/** Returns the deliveries as a contract in which the service is the client, so that `generate` can describe them too. */
function deliveries() {
  const c = initContract();
  const routes = deliveryNames.map((event) => {
    const body = extendApi(deliveryOf(event), { title: eventSchemaName(event, "Delivery") });
    return [event, { method: "POST", path: pathOf(event), body, metadata: { scope: "none" }, responses: {} }] as const;
  });
  return c.router(Object.fromEntries(routes));
}

/** Completes a generated webhook by its texts, its example and its header. */
function describe(event: DeliveryName, generated: Operation): Operation {
  const schema = generated.requestBody?.content["application/json"]?.schema ?? {};
  const example = { summary: `A delivery of ${event}`, value: exampleDelivery(event) };
  return {
    operationId: `webhooks.${event}`,
    summary: event,
    description: `${occasions[event]} \`data\` is the resource as a GET showed it at that moment; fetch it for its current state.`,
    tags: ["webhooks"],
    parameters: [signature],
    requestBody: {
      description: "`delivery_id` is the same in all attempts, so that you can ignore repeats.",
      required: true,
      content: { "application/json": { schema, examples: { delivery: example } } },
    },
    responses: receiverResponses,
    security: [],
  };
}

const unlisted = "Not in the events list: after an outage, fetch the resource.";

/** When each event is sent: the beginning of its description. */
const occasions: { readonly [Name in DeliveryName]: string } = {
  "ride.started": "A ride has started.",
  "ride.completed": "A ride has ended.",
  "ride.cancelled": "A ride was cancelled.",
  "ride.corrected": "A ride that has ended was corrected. This may happen several times to one ride.",
  "station.offline": "A station has gone offline.",
  "station.online": "A station is back online.",
  "reservation.created": "A reservation of yours holds a bike.",
  "reservation.cancelled": "A reservation of yours was cancelled: by you, by the operator, or because its bike failed.",
  "reservation.expired": "A reservation of yours has expired.",
  "reservation.fulfilled": "The bike of a reservation of yours has started its ride.",
  "alert.opened": "An alert for riders was opened; its `times` say when it applies, now or later.",
  "alert.ended":
    "An alert has ended: its `times` are over, its station is back online, the operator ended it, or its feed dropped it.",
  "station.below_threshold":
    "A station has had fewer bikes or docks than a threshold of your webhook, for the threshold's `for_minutes`.",
  "station.back_to_normal": "A station that was reported by `station.below_threshold` has enough again, and is online.",
  "station.updated": `A station has changed, such as its counters or flags. At most one delivery in ${STATION_NOTICE_SECONDS} seconds for each station; the last change is always sent. ${unlisted}`,
  "bike.state_changed": `A bike has another \`vehicle_state\` than before, or is new. ${unlisted}`,
};

function pathOf(event: DeliveryName): string {
  return `/${event}`;
}
