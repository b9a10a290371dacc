import type { EventRecord, Region } from "../json-types.generated.ts";
import type { DeliveryOf } from "../webhooks.ts";
import { createIdempotency, createKeys, type FakeKeyInput } from "./access.ts";
import { type Clock, createCity, type FakePartner, type VehicleTypeFields } from "./city.ts";
import type { BikeFields, StationFields } from "./fleet.ts";
import { createOperator, type EventFields, type Operator } from "./operator.ts";
import { createFetch, createRequests, type FakeFetch, type FakeServer, listen, type SeenRequest } from "./requests.ts";
import { expireReservations, type ReservationFields } from "./reservations.ts";
import type { RideFields } from "./rides.ts";
import { createMemoryRateLimiter, DEFAULT_MAX_RESERVATIONS, DEFAULT_RATE_LIMIT } from "./rules.ts";
import { createScripts, type Script, type ScriptedAnswer, type ScriptOptions } from "./script.ts";
import {
  createWebhooks,
  type DeliveryName,
  type ExampleOptions,
  FAKE_WEBHOOK_SECRET,
  type RecordedDelivery,
  type SignedWebhook,
  type WebhookOptions,
} from "./webhook.ts";

/** What a fake begins with. */
export interface FakeOptions {
  readonly stations?: readonly StationFields[] | undefined;
  readonly bikes?: readonly BikeFields[] | undefined;
  readonly vehicleTypes?: readonly VehicleTypeFields[] | undefined;
  readonly regions?: readonly Region[] | undefined;
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
  ): Promise<SignedWebhook<DeliveryOf<Name>>>;
  webhook(event: EventRecord, options?: WebhookOptions): Promise<SignedWebhook<RecordedDelivery>>;
  /** Listens on 127.0.0.1, for programs outside the test's process. Close it at the end. */
  listen(options?: { readonly port?: number }): Promise<FakeServer>;
}

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
  const { baseUrl = "https://bikeshare.test", webhookSecret = FAKE_WEBHOOK_SECRET } = options;
  const { maxReservations = DEFAULT_MAX_RESERVATIONS, rateLimit = DEFAULT_RATE_LIMIT } = options;
  const { now, advance } = createClock(options.now);
  const city = createCity(now, PARTNER, maxReservations);
  const operator = createOperator(city);
  fill(operator, options);
  const keys = createKeys(now, PARTNER, rateLimit);
  const { text: apiKey } = keys.issue({ scopes: options.scopes });
  const parts = { city, keys, limiter: createMemoryRateLimiter(now), idempotency: createIdempotency(now) };
  const scripts = createScripts();
  const requests = createRequests(parts, scripts);
  const webhooks = createWebhooks(now, PARTNER, webhookSecret);
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
      return city.events.map(({ shown }) => shown);
    },
    now,
    advance,
    issueKey: (input = {}) => keys.issue(input).text,
    revokeKey: (key) => keys.revoke(key),
    script: (answers, how = {}) => scripts.add(answers, how),
    webhook: (what: DeliveryName | EventRecord, how: ExampleOptions<DeliveryName> = {}) =>
      // Which of the two ways it is called in decides what it gives.
      (typeof what === "string" ? webhooks.ofName(what, how) : webhooks.ofEvent(what, how)) as Promise<
        SignedWebhook<never>
      >,
    listen: ({ port = 0 } = {}) => listen(requests, port),
  };
}

/** Puts there what a fake begins with: stations first, for bikes stand at them, and last what holds bikes. */
function fill(operator: Operator, options: FakeOptions): void {
  for (const station of options.stations ?? []) operator.putStation(station);
  for (const bike of options.bikes ?? []) operator.putBike(bike);
  for (const type of options.vehicleTypes ?? []) operator.putVehicleType(type);
  for (const region of options.regions ?? []) operator.putRegion(region);
  for (const ride of options.rides ?? []) operator.putRide(ride);
  for (const reservation of options.reservations ?? []) operator.putReservation(reservation);
  for (const event of options.events ?? []) operator.putEvent(event);
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
