import { extendApi } from "@anatine/zod-openapi";
import { z } from "zod";
import { alert } from "./alerts.ts";
import { bike } from "./bikes.ts";
import { type DeliveryName, type EventName, eventNames } from "./event-names.ts";
import { namedObject } from "./named-object.ts";
import { checkpointField, listOf, pagingQuery } from "./paging.ts";
import { reservation } from "./reservations.ts";
import { ride } from "./rides.ts";
import { station } from "./stations.ts";
import { thresholdStation } from "./thresholds.ts";
import { givenOnce, identifier, textOf, timestamp } from "./values.ts";

/**
 * The `data` of each event of the list: the resource as a GET would have shown it at that moment. Events about a
 * threshold add the threshold.
 */
export const eventData = {
  "ride.started": ride,
  "ride.completed": ride,
  "ride.cancelled": ride,
  "ride.corrected": ride,
  "station.offline": station,
  "station.online": station,
  "reservation.created": reservation,
  "reservation.cancelled": reservation,
  "reservation.expired": reservation,
  "reservation.fulfilled": reservation,
  "alert.opened": alert,
  "alert.ended": alert,
  "station.below_threshold": thresholdStation,
  "station.back_to_normal": thresholdStation,
} as const satisfies Readonly<Record<EventName, z.ZodTypeAny>>;

/**
 * The `data` of each webhook delivery. In addition to the events of the list there are notices of a resource's present
 * state. The list omits notices, because they would flood it and because a receiver that was down fetches the resource.
 */
export const deliveryData = {
  ...eventData,
  "station.updated": station,
  "bike.state_changed": bike,
} as const satisfies Readonly<Record<DeliveryName, z.ZodTypeAny>>;

/** The events that are delivered but are not in the events list: they report a state rather than history. */
export type NoticeName = Exclude<DeliveryName, EventName>;

/** Minimum seconds between two `station.updated` of the same station. */
export const STATION_NOTICE_SECONDS = 60;

/** Something that happened, as the events list shows it. */
export const eventRecord = extendApi(
  z
    .discriminatedUnion("event", eventRecords())
    .describe("Something that happened. `data` is the resource as a GET showed it at that moment."),
  { title: "Event", discriminator: { mapping: eventMapping() } },
);
export type EventRecord = z.infer<typeof eventRecord>;

const eventListNames = { title: "EventList", description: "One page of events, oldest first." };
export const eventList = namedObject(eventListNames.title, eventListNames.description, {
  ...listOf(eventRecord, eventListNames).shape,
  checkpoint: checkpointField(
    "With `after=now`: the id of the latest event, to send as `after` next time. Absent while there is no event: leave `after` out next time",
  ),
});

/** The id of an event, or `now`, in a query string. */
export const eventId = textOf("eventId", givenOnce());

export const eventListQuery = z
  .object({
    ...pagingQuery,
    event: z.enum(eventNames, givenOnce()).optional().describe("Only events of this name"),
    after: eventId
      .optional()
      .describe(
        "Only events after the event with this id: the last one that you have processed. `now` returns no events, but in " +
          "`checkpoint` the id to send as `after` for events from now on. 410 `checkpoint_lost` when the event with this " +
          "id is no longer kept",
      ),
  })
  .strict();

/** Returns the body of a webhook delivery that carries `name`. */
export function deliveryOf<Name extends DeliveryName>(name: Name) {
  return z
    .object({
      event: z.literal(name),
      delivery_id: identifier.describe("The same in all attempts, so that a receiver can ignore repeats"),
      occurred_at: timestamp.describe("When the event happened"),
      sent_at: timestamp.describe("When this attempt was sent"),
      data: deliveryData[name],
    })
    .strict();
}

/** The body that is POSTed to a partner's webhook address. */
export type Delivery<Name extends DeliveryName = DeliveryName> = {
  [N in Name]: {
    event: N;
    delivery_id: string;
    occurred_at: string;
    sent_at: string;
    data: z.infer<(typeof deliveryData)[N]>;
  };
}[Name];

function recordOf<Name extends EventName>(name: Name) {
  const record = z
    .object({
      id: identifier.describe("Never changes, so that you can ignore events that you have seen"),
      event: z.literal(name),
      occurred_at: timestamp.describe("When the event happened"),
      data: eventData[name],
    })
    .strict();
  return extendApi(record, { title: eventSchemaName(name, "Event") });
}

/** Returns the schema of each event. They are written out, because a `map` over the names would lose each one's type. */
function eventRecords() {
  return [
    recordOf("ride.started"),
    recordOf("ride.completed"),
    recordOf("ride.cancelled"),
    recordOf("ride.corrected"),
    recordOf("station.offline"),
    recordOf("station.online"),
    recordOf("reservation.created"),
    recordOf("reservation.cancelled"),
    recordOf("reservation.expired"),
    recordOf("reservation.fulfilled"),
    recordOf("alert.opened"),
    recordOf("alert.ended"),
    recordOf("station.below_threshold"),
    recordOf("station.back_to_normal"),
  ] as const;
}

/** Returns the reference to the schema of each event, by the event's name: OpenAPI's `discriminator.mapping`. */
function eventMapping(): Record<string, string> {
  return Object.fromEntries(eventNames.map((name) => [name, `#/components/schemas/${eventSchemaName(name, "Event")}`]));
}

/** Returns the name of the schema of an event: `ride.completed` and `Event` give `RideCompletedEvent`. */
export function eventSchemaName(event: string, kind: "Event" | "Delivery"): string {
  const words = event.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join("")}${kind}`;
}
