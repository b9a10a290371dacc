import { signedRequest, TEST_SECRET } from "@bikeshare/webhooks/testing";
import { expect, test } from "vitest";
import { createFetch } from "./fetch.ts";

test("a delivery that comes twice is kept once", async () => {
  const kept = new Map<string, unknown>();
  const fetch = createFetch(TEST_SECRET, { add: async (delivery) => void kept.set(delivery.delivery_id, delivery) });
  const twice = { event: "ride.completed", deliveryId: "delivery_1", data: { duration_seconds: 60 } } as const;
  for (const { request } of [await signedRequest(twice), await signedRequest(twice)]) {
    expect(await fetch(request)).toMatchObject({ status: 200 });
  }
  expect([...kept.keys()]).toEqual(["delivery_1"]);
});

test("a request that is signed with another secret is refused", async () => {
  const fetch = createFetch(TEST_SECRET, { add: () => Promise.reject(new Error("must not happen")) });
  const { request } = await signedRequest({ event: "ride.completed", secret: "whsec_of_somebody_else" });
  expect(await fetch(request)).toMatchObject({ status: 400 });
});
