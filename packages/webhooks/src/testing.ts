import { type Clock, systemClock } from "./clock.ts";
import type { DeliveryOf } from "./delivery.ts";
import { exampleDeliveries } from "./examples.generated.ts";
import { SIGNATURE_HEADER } from "./header.ts";
import type { Secrets } from "./secret.ts";
import { sign } from "./sign.ts";
import type { KnownDelivery } from "./wire.generated.ts";

type KnownName = KnownDelivery["event"];

/** A secret of the right form for tests: it signs nothing real. */
export const TEST_SECRET = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE";

/** What a delivery for a test says. What is left out is filled in. */
export interface TestDeliveryInput<Name extends string = string> {
  /** One of the events, or any other text, to see what a receiver does about an event that it does not know. */
  readonly event: Name;
  /** For an event of ours, what shall differ from the documentation's example; for any other, all of it. */
  readonly data?: (Name extends KnownName ? Partial<DeliveryOf<Name>["data"]> : object) | undefined;
  /** A new one for each delivery if not said. Say it to make a repeat. */
  readonly deliveryId?: string | undefined;
  /** RFC 3339; now if not said. */
  readonly occurredAt?: string | undefined;
  /** Milliseconds since 1970, as `Date.now` gives them, which is what it is if not said. */
  readonly now?: Clock | undefined;
}

/** The delivery of an event, whether it is one of ours or not. */
export type TestDelivery<Name extends string> = Name extends KnownName
  ? DeliveryOf<Name>
  : { event: Name; delivery_id: string; occurred_at: string; sent_at: string; data: object };

/** A delivery as the service makes it, for a test to hand to your own code. */
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
  return delivery as unknown as TestDelivery<Name>; // `data` is the example of this very event, changed in its own fields
}

/** What a signed request is made of. */
export interface SignedRequestInput<Name extends string = string> extends TestDeliveryInput<Name> {
  /** The secret that your receiver has, or several; `TEST_SECRET` if not said. */
  readonly secret?: Secrets | undefined;
  /** Where your receiver listens: `https://receiver.example/webhooks` if not said. */
  readonly url?: string | undefined;
}

/** A request with a delivery, in the forms that tests need. */
export interface SignedRequest<Name extends string = string> {
  /** For a receiver that takes a `Request`, or for `fetch`. Its body can be read once. */
  readonly request: Request;
  readonly url: string;
  readonly method: "POST";
  /** All headers, for `inject` of Fastify, for supertest and their like. */
  readonly headers: Record<"Content-Type" | "Service-Signature" | "User-Agent", string>;
  /** The body exactly as it is signed. */
  readonly body: string;
  /** What the body says. */
  readonly delivery: TestDelivery<Name>;
}

/**
 * A signed request as the service sends it. For one that must be refused, sign with another `secret`, or with a `now` of
 * ten minutes ago.
 */
export async function signedRequest<Name extends KnownName | (string & {})>(
  input: SignedRequestInput<Name>,
): Promise<SignedRequest<Name>> {
  const { secret: secrets = TEST_SECRET, url = "https://receiver.example/webhooks", now = systemClock } = input;
  const time = now();
  const delivery = createTestDelivery({ ...input, now: () => time });
  const body = JSON.stringify(delivery);
  const signature = await sign({ body, secrets, timestamp: Math.floor(time / 1000) });
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

/** Random, so that a `seen` which outlives one test does not take the next test's delivery for a repeat. */
function newDeliveryId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return `delivery_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}_test`;
}
