import { deliveryIdOf } from "../delivery-id.ts";
import type { Bike, EventRecord, Reservation, Ride, Station } from "../json-types.generated.ts";
import { type DeliveryOf, type KnownDelivery, sign, SIGNATURE_HEADER } from "../webhooks.ts";
import { type City, type Clock, createCity, type FakePartner, instant } from "./city.ts";
import { putBike, putStation, shownBike, takeOffline } from "./fleet.ts";
import { putReservation } from "./reservations.ts";
import { putRide } from "./rides.ts";
import { DEFAULT_MAX_RESERVATIONS } from "./rules.ts";

/** The secret that signs where no other is said. Of the form of a real one; it signs nothing real. */
export const FAKE_WEBHOOK_SECRET = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE";

/** Stands for the endpoint in the ids of deliveries of events. */
const ENDPOINT = "0faked";

/** What can be delivered: every event, and the notices that the list of events leaves out. */
export type DeliveryName = KnownDelivery["event"];

/** How a delivery is sent. */
export interface WebhookOptions {
  /** The secret that your receiver has, or several; `fake.webhookSecret` if not said. Another one must be refused. */
  readonly secret?: string | readonly string[] | undefined;
  /** Where your receiver listens: `https://receiver.example/webhooks` if not said. */
  readonly url?: string | undefined;
  /** A new one for each delivery if not said; of an event of the list the same each time. Say it to make a repeat. */
  readonly deliveryId?: string | undefined;
  /** Milliseconds by which it was signed earlier than now: above 300,000 it must be refused. Default 0. */
  readonly age?: number | undefined;
}

/** How the delivery of an example is sent. */
export interface ExampleOptions<Name extends DeliveryName> extends WebhookOptions {
  /** What shall differ from the example. */
  readonly data?: Partial<DeliveryOf<Name>["data"]> | undefined;
}

/** A signed delivery, in the forms that tests need. */
export interface SignedWebhook<Delivery = unknown> {
  /** For a receiver that takes a `Request`, or for `fetch`. Its body can be read once. */
  readonly request: Request;
  readonly url: string;
  /** For `inject` of Fastify, for supertest and their like. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body exactly as it is signed. */
  readonly body: string;
  /** What the body says. */
  readonly delivery: Delivery;
}

/** The delivery of an event of the list: what the service would post. */
export interface RecordedDelivery {
  readonly event: string;
  readonly delivery_id: string;
  readonly occurred_at: string;
  readonly sent_at: string;
  readonly data: unknown;
}

/** Makes signed deliveries. */
export interface Webhooks {
  ofName<Name extends DeliveryName>(
    name: Name,
    options: ExampleOptions<Name>,
  ): Promise<SignedWebhook<DeliveryOf<Name>>>;
  ofEvent(event: EventRecord, options: WebhookOptions): Promise<SignedWebhook<RecordedDelivery>>;
}

/** @param secret signs where no other is said */
export function createWebhooks(now: Clock, partner: FakePartner, secret: string): Webhooks {
  let made = 0;
  const nextId = () => `delivery_${String(++made).padStart(6, "0")}`;
  const send = async <Delivery extends object>(delivery: Delivery, { age = 0, ...options }: WebhookOptions) => {
    const { url = "https://receiver.example/webhooks", secret: secrets = secret } = options;
    const body = JSON.stringify(delivery);
    const signature = await sign({ body, secrets, timestamp: Math.floor((now() - age) / 1000) });
    const headers = {
      "Content-Type": "application/json",
      [SIGNATURE_HEADER]: signature,
      "User-Agent": "bikeshare-sdk-testing",
    };
    return { request: new Request(url, { method: "POST", headers, body }), url, headers, body, delivery };
  };
  return {
    ofName: <Name extends DeliveryName>(event: Name, { data, ...options }: ExampleOptions<Name>) => {
      const at = instant(now() - (options.age ?? 0));
      const delivery_id = options.deliveryId ?? nextId();
      const all: object = { ...exampleData(event, now, partner), ...data };
      const delivery = { event, delivery_id, occurred_at: at, sent_at: at, data: all };
      return send(delivery as unknown as DeliveryOf<Name>, options); // `data` is what this event carries
    },
    ofEvent({ id, event, occurred_at, data }, options) {
      const sent_at = instant(now() - (options.age ?? 0));
      const delivery_id = options.deliveryId ?? deliveryIdOf(id, ENDPOINT);
      return send({ event: String(event), delivery_id, occurred_at, sent_at, data }, options);
    },
  };
}

/** What a delivery of a name carries, in a small city of its own: the same verbs as the fake's own make it. */
function exampleData<Name extends DeliveryName>(
  name: Name,
  now: Clock,
  partner: FakePartner,
): DeliveryOf<Name>["data"] {
  const city = createCity(now, partner, DEFAULT_MAX_RESERVATIONS);
  putStation(city, { id: "station_1", name: "City Hall" });
  putBike(city, { id: "bike_1", station_id: "station_1", vehicle_type_id: "classic" });
  const [resource = "", change = ""] = name.split(".");
  return makers[resource]?.(city, change) as DeliveryOf<Name>["data"]; // The table's names are those of the resources.
}

const makers: Readonly<
  Record<string, (city: City, change: string) => Station | Ride | Bike | Reservation | undefined>
> = {
  station(city, change) {
    if (change === "offline") takeOffline(city, "station_1");
    return city.stations.get("station_1")?.shown;
  },
  bike(city) {
    const bike = city.bikes.get("bike_1");
    return bike && shownBike(bike);
  },
  ride(city, change) {
    const status = change === "corrected" ? "completed" : change;
    const end = status === "completed" ? { end_station_id: "station_1", distance_meters: 1800 } : {};
    putRide(city, { id: "ride_1", bike_id: "bike_1", status, start_station_id: "station_1", ...end });
    return city.rides.get("ride_1");
  },
  reservation(city, change) {
    const ends = {
      cancelled: { cancel_reason: "partner", cancelled_at: instant(city.now()) },
      fulfilled: { ride_id: "ride_1" },
    };
    const end = change === "cancelled" || change === "fulfilled" ? ends[change] : {};
    const status = change === "created" ? "active" : change;
    putReservation(city, { id: "reservation_1", bike_id: "bike_1", status, ...end });
    return city.reservations.get("reservation_1")?.shown;
  },
};
