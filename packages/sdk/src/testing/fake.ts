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

/** The options of a fake of the service, with the data that it begins with. */
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
  /** The scopes of the first key, `apiKey`. Default: every scope. */
  readonly scopes?: FakeKeyInput["scopes"];
  /**
   * Requests that a key may make in any 60 s. Default 60, as in the real service. A test that sends more waits for up
   * to a minute. Raise the limit if you do not test that.
   */
  readonly rateLimit?: number | undefined;
  /** Active reservations that each partner may have at once. Default 50, as in the real service. */
  readonly maxReservations?: number | undefined;
  /** Returns milliseconds since 1970. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** Default: `https://bikeshare.test`. */
  readonly baseUrl?: string | undefined;
  /** The secret that signs deliveries. Default: a fixed secret for tests. */
  readonly webhookSecret?: string | undefined;
}

/** A fake of the service in memory. Make a client of it by `new BikeShare(fake.options)`. */
export interface FakeBikeShare {
  /** The options of a client of the fake. Add your own: `{ ...fake.options, maxRetries: 0 }`. */
  readonly options: { readonly baseUrl: string; readonly apiKey: string; readonly fetch: FakeFetch };
  readonly fetch: FakeFetch;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The secret that signs deliveries. Give it to your receiver. */
  readonly webhookSecret: string;
  /** Does what the operator does, such as starting rides. */
  readonly operator: Operator;
  /** All requests that the fake got, oldest first, without keys. */
  readonly requests: readonly SeenRequest[];
  /** Returns all events of all partners, oldest first. */
  events(): readonly EventRecord[];
  /** Returns the fake's time, in milliseconds since 1970. */
  now(): number;
  /**
   * Moves the fake's clock forward by milliseconds: reservations expire, requests leave the rate limit's window. This does
   * not end a client's wait. The fake timers of your test runner move both.
   */
  advance(ms: number): void;
  /** Issues another key. */
  issueKey(input?: FakeKeyInput): string;
  /** @throws Error for a key that was not issued here */
  revokeKey(key: string): void;
  /** Sets what happens to the next requests, one after the other. Later requests are answered as usual. */
  script(answers: readonly ScriptedAnswer[], options?: ScriptOptions): Script;
  /** Returns a signed delivery for your receiver: of an example, or of an event of the list. */
  webhook<Name extends DeliveryName>(
    name: Name,
    options?: ExampleOptions<Name>,
  ): Promise<SignedRequest<DeliveryOf<Name>>>;
  webhook(event: EventRecord, options?: WebhookOptions): Promise<SignedRequest<TestDelivery<string>>>;
  /** Listens on 127.0.0.1, for programs outside the test's process. Close the server at the end. */
  listen(options?: ListenOptions): Promise<FakeServer>;
}

/** The name of everything that can be delivered: events, and the notices that the events list leaves out. */
export type DeliveryName = KnownDelivery["event"];

/** How a delivery is signed, and where it is sent. */
export interface WebhookOptions {
  /** The secret, or several, that sign. Default: `fake.webhookSecret`. Your receiver must reject any other one. */
  readonly secret?: string | readonly string[] | undefined;
  /** The address of your receiver. Default: `https://receiver.example/webhooks`. */
  readonly url?: string | undefined;
  /** Default: a new id for each example, but always the same id for an event of the list. Set it to make a repeat. */
  readonly deliveryId?: string | undefined;
  /** How many milliseconds ago it was signed. Default 0. Above 300,000 your receiver must reject it. */
  readonly age?: number | undefined;
}

/** The options for the delivery of an example. */
export interface ExampleOptions<Name extends DeliveryName> extends WebhookOptions {
  /** The fields that differ from the documentation's example. */
  readonly data?: Partial<DeliveryOf<Name>["data"]> | undefined;
}

/** The endpoint's part of the ids of deliveries. */
const ENDPOINT = "0faked";

/** The first partner, who owns the first key. */
const PARTNER: FakePartner = { id: "partner_000001", name: "Journey Planner" };

/**
 * Creates a fake of the Bike-Sharing Data Service in memory, for tests of programs that use the service. It has the same
 * answers, limits and errors, because it is made from the contract. Each call creates a separate fake, which you need not
 * close.
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

/** Adds the data that a fake begins with. Stations come before bikes, and bikes before rides and reservations. */
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
  // The given free docks are set last, because they belong to the state with all given bikes.
  for (const { id, num_docks_available: docks } of options.stations ?? []) {
    const station = city.stations.get(id);
    if (station !== undefined) city.stations.set(id, withDocks(city, station, docks));
  }
}

/** The machine's own clock. */
// oxlint-disable-next-line eslint/no-restricted-properties -- users of a library have no entry point that injects a clock
const systemClock: Clock = () => Date.now();

/** Creates a clock that a test may move forward, but not back. */
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

/** Returns the function that signs deliveries. @param webhookSecret the default secret */
function createWebhooks(now: Clock, webhookSecret: string): FakeBikeShare["webhook"] {
  let made = 0;
  return (what: DeliveryName | EventRecord, options: ExampleOptions<DeliveryName> = {}) => {
    const { secret = webhookSecret, url, deliveryId, age = 0, data } = options;
    const signedAt = now() - age;
    const send = <Delivery extends object>(delivery: Delivery) =>
      // The overloads of `webhook` give the result's type.
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
