import { deliveryIdOf } from "../delivery-id.ts";
import type { EventRecord, Region } from "../json-types.generated.ts";
import type { DeliveryOf, KnownDelivery } from "../webhooks.ts";
import { createIdempotency, createKeys, type FakeKeyInput } from "./access.ts";
import { type AlertFields, endPastAlerts } from "./alerts.ts";
import { withDocks } from "./bikes.ts";
import { type City, type Clock, createCity, type EventFields, type FakePartner, instant } from "./city.ts";
import type { DeliveryFields } from "./deliveries.ts";
import {
  type BikeFields,
  type ExportFields,
  Operator,
  type StationFields,
  type VehicleTypeFields,
} from "./operator.ts";
import {
  createFetch,
  createRequests,
  type FakeFetch,
  type FakeServer,
  listen,
  type ListenOptions,
  type SeenRequest,
} from "./requests.ts";
import { expireReservations, type ReservationFields } from "./reservations.ts";
import type { RideFields } from "./rides.ts";
import { createMemoryRateLimiter, DEFAULT_MAX_RESERVATIONS, DEFAULT_RATE_LIMIT } from "./rules.ts";
import { createScripts, type Script, type ScriptedAnswer, type ScriptOptions } from "./script.ts";
import { createTestDelivery, signDelivery, type SignedRequest, TEST_SECRET, type TestDelivery } from "./webhooks.ts";

/** What a fake begins with. */
export interface FakeOptions {
  readonly stations?: readonly StationFields[] | undefined;
  readonly bikes?: readonly BikeFields[] | undefined;
  readonly vehicleTypes?: readonly VehicleTypeFields[] | undefined;
  readonly regions?: readonly Region[] | undefined;
  readonly alerts?: readonly AlertFields[] | undefined;
  readonly exports?: readonly ExportFields[] | undefined;
  readonly deliveries?: readonly DeliveryFields[] | undefined;
  readonly rides?: readonly RideFields[] | undefined;
  readonly reservations?: readonly ReservationFields[] | undefined;
  readonly events?: readonly EventFields[] | undefined;
  /** Of the first key, `apiKey`: every scope if not said. */
  readonly scopes?: FakeKeyInput["scopes"];
  /**
   * Requests in any 60 s that keys may make: 60 if not said, as at the real service. A test that asks for more waits a
   * minute, as it would there: raise it where that is not what you test.
   */
  readonly rateLimit?: number | undefined;
  /** Active reservations that each partner may have at once: 50 if not said, as at the real service. */
  readonly maxReservations?: number | undefined;
  /** Milliseconds since 1970, as `Date.now` gives them, which is what it is if not said. */
  readonly now?: Clock | undefined;
  /** `https://bikeshare.test` if not said. */
  readonly baseUrl?: string | undefined;
  /** Signs deliveries; `whsec_…` for tests if not said. */
  readonly webhookSecret?: string | undefined;
}

/** The service, in memory. A client of it: `new BikeShare(fake.options)`. */
export interface FakeBikeShare {
  /** What makes a client of it. Add options of your own: `{ ...fake.options, maxRetries: 0 }`. */
  readonly options: { readonly baseUrl: string; readonly apiKey: string; readonly fetch: FakeFetch };
  readonly fetch: FakeFetch;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Signs deliveries: for your receiver. */
  readonly webhookSecret: string;
  /** What the operator's side does. */
  readonly operator: Operator;
  /** Every request that came, oldest first. Without keys. */
  readonly requests: readonly SeenRequest[];
  /** Every event there is, oldest first, whoever may see it. */
  events(): readonly EventRecord[];
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Moves the fake's clock forward by milliseconds: reservations expire, requests are given back. A client that waits is
   * not moved with it; your test runner's fake timers move both.
   */
  advance(ms: number): void;
  /** Makes another key. */
  issueKey(input?: FakeKeyInput): string;
  /** @throws Error for a key that was not issued here */
  revokeKey(key: string): void;
  /** Says what becomes of the next requests, one after the other. Then all is as usual. */
  script(answers: readonly ScriptedAnswer[], options?: ScriptOptions): Script;
  /** A signed delivery of an example, or of an event of the list, for your receiver. */
  webhook<Name extends DeliveryName>(
    name: Name,
    options?: ExampleOptions<Name>,
  ): Promise<SignedRequest<DeliveryOf<Name>>>;
  webhook(event: EventRecord, options?: WebhookOptions): Promise<SignedRequest<TestDelivery<string>>>;
  /** Listens on 127.0.0.1, for programs outside the test's process. Close it at the end. */
  listen(options?: ListenOptions): Promise<FakeServer>;
}

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
  /** What shall differ from the example of the documentation. */
  readonly data?: Partial<DeliveryOf<Name>["data"]> | undefined;
}

/** Stands for the endpoint in the ids of deliveries of events. */
const ENDPOINT = "0faked";

/** Whose key the first one is. */
const PARTNER: FakePartner = { id: "partner_000001", name: "Journey Planner" };

/**
 * The Bike-Sharing Data Service in memory, for tests of programs that use it: the same answers, limits and errors, made
 * from the contract. Each call makes one of its own; it needs no closing.
 *
 * @example
 * const fake = createFakeBikeShare({ stations: [{ id: "s1" }], bikes: [{ id: "b1", station_id: "s1" }] });
 * const client = new BikeShare(fake.options);
 * fake.script([{ status: 503 }, "lost"]);
 * await client.reservations.create({ station_id: "s1" });
 */
export function createFakeBikeShare(options: FakeOptions = {}): FakeBikeShare {
  const { baseUrl = "https://bikeshare.test", webhookSecret = TEST_SECRET } = options;
  const { maxReservations = DEFAULT_MAX_RESERVATIONS, rateLimit = DEFAULT_RATE_LIMIT } = options;
  const { now, advance } = createClock(options.now);
  const city = createCity(now, PARTNER, maxReservations);
  const operator = new Operator(city);
  fill(city, operator, options);
  const keys = createKeys(now, PARTNER, rateLimit);
  const apiKey = keys.issue({ scopes: options.scopes });
  const scripts = createScripts();
  const limiter = createMemoryRateLimiter(now);
  const requests = createRequests({ city, keys, limiter, idempotency: createIdempotency(now) }, scripts);
  const fetch = createFetch(requests, baseUrl);
  return {
    options: { baseUrl, apiKey, fetch },
    fetch,
    baseUrl,
    apiKey,
    webhookSecret,
    operator,
    requests: requests.seen,
    events() {
      expireReservations(city);
      endPastAlerts(city);
      return city.events.map(({ shown }) => shown);
    },
    now,
    advance,
    issueKey: (input = {}) => keys.issue(input),
    revokeKey: (key) => keys.revoke(key),
    script: (answers, how = {}) => scripts.add(answers, how),
    webhook: createWebhooks(now, webhookSecret),
    listen: (how = {}) => listen(requests, how),
  };
}

/** Puts there what a fake begins with: stations first, for bikes stand at them, and last what holds bikes. */
function fill(city: City, operator: Operator, options: FakeOptions): void {
  for (const station of options.stations ?? []) operator.putStation(station);
  for (const bike of options.bikes ?? []) operator.putBike(bike);
  for (const type of options.vehicleTypes ?? []) operator.putVehicleType(type);
  for (const region of options.regions ?? []) operator.putRegion(region);
  for (const file of options.exports ?? []) operator.putExport(file);
  for (const delivery of options.deliveries ?? []) operator.putDelivery(delivery);
  for (const alert of options.alerts ?? []) operator.openAlert(alert);
  for (const ride of options.rides ?? []) operator.putRide(ride);
  for (const reservation of options.reservations ?? []) operator.putReservation(reservation);
  for (const event of options.events ?? []) operator.putEvent(event);
  // The free docks that were given are those beside the bikes that were.
  for (const { id, num_docks_available: docks } of options.stations ?? []) {
    const station = city.stations.get(id);
    if (station !== undefined) city.stations.set(id, withDocks(city, station, docks));
  }
}

/** The machine's own clock. */
// oxlint-disable-next-line eslint/no-restricted-properties -- whoever installs a library has no main.ts that hands one in
const systemClock: Clock = () => Date.now();

/** A clock that a test may move forward. Time never goes back: a service's does not either. */
function createClock(base: Clock = systemClock): { readonly now: Clock; readonly advance: (ms: number) => void } {
  let moved = 0;
  return {
    now: () => base() + moved,
    advance(ms) {
      if (!(ms >= 0 && ms < Infinity)) throw new RangeError("advance takes milliseconds, 0 or more");
      moved += ms;
    },
  };
}

/** Signs deliveries. @param webhookSecret signs where no other is said */
function createWebhooks(now: Clock, webhookSecret: string): FakeBikeShare["webhook"] {
  let made = 0;
  return (what: DeliveryName | EventRecord, options: ExampleOptions<DeliveryName> = {}) => {
    const { secret = webhookSecret, url, deliveryId, age = 0, data } = options;
    const signedAt = now() - age;
    const send = <Delivery extends object>(delivery: Delivery) =>
      // Which of the two ways it is called in decides what it gives.
      signDelivery(delivery, { secret, url, now: () => signedAt }) as Promise<SignedRequest<never>>;
    if (typeof what === "string") {
      const newId = deliveryId ?? `delivery_${String(++made).padStart(6, "0")}`;
      return send(createTestDelivery({ event: what, data, deliveryId: newId, now: () => signedAt }));
    }
    const delivery_id = deliveryId ?? deliveryIdOf(what.id, ENDPOINT);
    const { event, occurred_at } = what;
    return send({ event, delivery_id, occurred_at, sent_at: instant(signedAt), data: what.data });
  };
}
