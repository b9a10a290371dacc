import { exampleDeliveries } from "./examples.generated.ts";
import type { KnownDelivery } from "./json-types.generated.ts";
import type { Secrets } from "./secret.ts";
import { sign, SIGNATURE_HEADER } from "./signature.ts";
import { type Clock, type DeliveryOf, systemClock } from "./verify.ts";

/* `@bikeshare/webhooks/testing`: signed example deliveries, for the tests of a receiver. */

type KnownName = KnownDelivery["event"];

/** A secret in the service's form, for tests only. */
export const TEST_SECRET = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE";

/** The fields of a test delivery; all but `event` have defaults. */
export interface TestDeliveryInput<Name extends string = string> {
  /** An event's name, or any other string, to test how a receiver handles an unknown event. */
  readonly event: Name;
  /** For a known event, the fields that differ from the documentation's example; for any other, all of them. */
  readonly data?: (Name extends KnownName ? Partial<DeliveryOf<Name>["data"]> : object) | undefined;
  /** Default: a new one for each delivery. Set it to make a repeat. */
  readonly deliveryId?: string | undefined;
  /** RFC 3339. Default: now. */
  readonly occurredAt?: string | undefined;
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: Clock | undefined;
}

/** The delivery of an event, known or not. */
export type TestDelivery<Name extends string> = Name extends KnownName
  ? DeliveryOf<Name>
  : { event: Name; delivery_id: string; occurred_at: string; sent_at: string; data: object };

/** Returns a delivery as the service creates it, to pass to your own code in a test. */
export function createTestDelivery<Name extends KnownName | (string & {})>(
  input: TestDeliveryInput<Name>,
): TestDelivery<Name> {
  const now = new Date((input.now ?? systemClock)()).toISOString();
  const example: unknown = Reflect.get(exampleDeliveries, input.event);
  const delivery = {
    event: input.event,
    delivery_id: input.deliveryId ?? newDeliveryId(),
    occurred_at: input.occurredAt ?? now,
    sent_at: now,
    data: { ...dataOf(example), ...input.data },
  };
  return delivery as unknown as TestDelivery<Name>; // `data` is this event's example with changed fields.
}

/** How a delivery is signed, and where it is sent. */
export interface SendOptions {
  /** Your receiver's secret, or several. Default `TEST_SECRET`. */
  readonly secret?: Secrets | undefined;
  /** Your receiver's URL. Default `https://receiver.example/webhooks`. */
  readonly url?: string | undefined;
  /** When it is signed, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: Clock | undefined;
}

/** The fields of a test delivery, and how it is sent. */
export interface SignedRequestInput<Name extends string = string> extends TestDeliveryInput<Name>, SendOptions {}

/** A request with a delivery, in the forms that tests use. */
export interface SignedRequest<Delivery = unknown> {
  /** For a receiver that takes a `Request`, or for `fetch`. Its body can be read once. */
  readonly request: Request;
  readonly url: string;
  readonly method: "POST";
  /** All headers, for Fastify's `inject`, supertest and similar. */
  readonly headers: Record<"Content-Type" | "Service-Signature" | "User-Agent", string>;
  /** The body exactly as it is signed. */
  readonly body: string;
  /** The body, parsed. */
  readonly delivery: Delivery;
}

/**
 * Returns a signed request as the service sends it. To test that your receiver rejects a request, sign it with another
 * `secret`, or with a `now` of ten minutes ago.
 */
export async function signedRequest<Name extends KnownName | (string & {})>(
  input: SignedRequestInput<Name>,
): Promise<SignedRequest<TestDelivery<Name>>> {
  const time = (input.now ?? systemClock)();
  const now = () => time;
  return signDelivery(createTestDelivery({ ...input, now }), { ...input, now });
}

/** Returns a signed request with a delivery of your own. */
export async function signDelivery<Delivery extends object>(
  delivery: Delivery,
  { secret: secrets = TEST_SECRET, url = "https://receiver.example/webhooks", now = systemClock }: SendOptions = {},
): Promise<SignedRequest<Delivery>> {
  const body = JSON.stringify(delivery);
  const signature = await sign({ body, secrets, timestamp: Math.floor(now() / 1000) });
  const headers = {
    "Content-Type": "application/json",
    [SIGNATURE_HEADER]: signature,
    "User-Agent": "bikeshare-webhooks-testing",
  } as const;
  return { request: new Request(url, { method: "POST", headers, body }), url, method: "POST", headers, body, delivery };
}

function dataOf(example: unknown): object {
  const data: unknown = typeof example === "object" && example !== null ? Reflect.get(example, "data") : undefined;
  return typeof data === "object" && data !== null ? data : {};
}

/** Returns a random id, so that a `seen` that outlives one test does not take the next test's delivery for a repeat. */
function newDeliveryId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `delivery_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}_test`;
}
