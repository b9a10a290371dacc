import { z } from "zod";
import { identifier } from "./identifier.ts";
import { ride } from "./rides.ts";
import { station } from "./stations.ts";
import { timestamp } from "./time.ts";

/** What an event's `data` holds: the resource as a GET would show it at that moment. */
export const eventData = {
  "ride.started": ride,
  "ride.completed": ride,
  "ride.cancelled": ride,
  "station.offline": station,
  "station.online": station,
} as const;

export type EventName = keyof typeof eventData;

/** Every event's name. Clients must accept names they do not know: we only ever add. */
export const eventNames = Object.keys(eventData) as [EventName, ...EventName[]];

/** The body of a webhook delivery that carries `name`. */
export function deliveryOf<Name extends EventName>(name: Name) {
  return z
    .object({
      event: z.literal(name),
      delivery_id: identifier.describe("The same over all attempts, so that a receiver can drop repeats"),
      occurred_at: timestamp.describe("When the thing happened"),
      sent_at: timestamp.describe("When this attempt was sent"),
      data: eventData[name],
    })
    .strict();
}

/** What is POSTed to a partner's webhook address. */
export type Delivery<Name extends EventName = EventName> = {
  [N in Name]: {
    event: N;
    delivery_id: string;
    occurred_at: string;
    sent_at: string;
    data: z.infer<(typeof eventData)[N]>;
  };
}[Name];
