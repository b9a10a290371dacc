import fc from "fast-check";
import { expect, expectTypeOf, it } from "vitest";
import { exampleDeliveries } from "./examples.generated.ts";
import type { KnownDelivery, Ride } from "./json-types.generated.ts";
import { createTestDelivery, signedRequest, TEST_SECRET } from "./testing.ts";
import { verify } from "./verify.ts";

fc.configureGlobal({ seed: 1 });

const names = Object.keys(exampleDeliveries) as KnownDelivery["event"][];

it.each(names)("creates a request with %s that verifies", async (event) => {
  const { body, headers, delivery } = await signedRequest({ event });
  expect(await verify(body, headers["Service-Signature"], TEST_SECRET)).toEqual(delivery);
  expect(delivery.data).toEqual(exampleDeliveries[event].data);
});

it("creates a request of any event with any secrets", async () => {
  const secrets = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 });
  const event = fc.oneof(fc.constantFrom(...names), fc.string({ minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(event, secrets, fc.dictionary(fc.string(), fc.jsonValue()), async (name, secret, data) => {
      const { body, headers } = await signedRequest({ event: name, secret, data });
      expect(await verify(body, headers["Service-Signature"], secret[0]!)).toMatchObject({ event: name });
    }),
  );
});

it("has the same content in all its forms", async () => {
  const { request, url, method, headers, body, delivery } = await signedRequest({ event: "ride.completed" });
  expect(request).toMatchObject({ url, method });
  for (const [name, value] of Object.entries(headers)) expect(request.headers.get(name)).toBe(value);
  expect(await request.text()).toBe(body);
  expect(JSON.parse(body)).toEqual(delivery);
});

it("writes the body as the service does: compact, and in this order", async () => {
  const { body } = await signedRequest({ event: "ride.completed", data: { id: "ride-7" }, deliveryId: "delivery_1" });
  expect(body).toMatch(
    /^\{"event":"ride\.completed","delivery_id":"delivery_1","occurred_at":"[^"]+","sent_at":"[^"]+","data":\{"id":"ride-7",/,
  );
});

it("has the given time", async () => {
  const now = () => Date.parse("2026-03-14T08:21:44.750Z");
  const { delivery, headers } = await signedRequest({
    event: "ride.started",
    now,
    occurredAt: "2026-03-14T08:00:00.000Z",
  });
  expect(delivery).toMatchObject({ sent_at: "2026-03-14T08:21:44.750Z", occurred_at: "2026-03-14T08:00:00.000Z" });
  expect(headers["Service-Signature"]).toMatch(/^t=1773476504,v1=/);
});

it("creates a new delivery each time, and a repeat on request", () => {
  const ids = Array.from({ length: 100 }, () => createTestDelivery({ event: "ride.started" }).delivery_id);
  expect(new Set(ids).size).toBe(100);
  expect(createTestDelivery({ event: "ride.started", deliveryId: ids[0] }).delivery_id).toBe(ids[0]);
});

it("has a secret in the form of real ones", () => {
  expect(TEST_SECRET).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
});

it("types its delivery by the event", () => {
  const ride = createTestDelivery({ event: "ride.completed", data: { duration_seconds: 60 } });
  expectTypeOf(ride.data).toEqualTypeOf<Ride>();
  const other = createTestDelivery({ event: "bike.repainted", data: { colour: "green" } });
  expectTypeOf(other.event).toEqualTypeOf<"bike.repainted">();
});
