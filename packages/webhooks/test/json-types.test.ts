import { readFileSync } from "node:fs";
import type * as contract from "@bikeshare/contract";
import { expect, expectTypeOf, test } from "vitest";
import { jsonTypeFiles } from "../../contract/tools/json-types-files.ts";
import type { Delivery, DeliveryOf, KnownDelivery, UnknownDelivery } from "../src/index.ts";
import { createTestDelivery } from "../src/testing.ts";
import { examplesFile, examplesText } from "../tools/examples.ts";

test("the generated types are up to date", () => {
  const file = jsonTypeFiles().find(({ url }) => url.pathname.endsWith("/webhooks/src/json-types.generated.ts"));
  expect(file).toBeDefined();
  expect(readFileSync(file!.url, "utf8"), "run `pnpm --filter @bikeshare/sdk run generate`").toBe(file!.text);
});

test("the example deliveries are up to date", () => {
  expect(readFileSync(examplesFile, "utf8"), "run `pnpm --filter @bikeshare/webhooks run generate`").toBe(
    examplesText(),
  );
});

test("the contract's deliveries fit the types here, name by name", () => {
  expectTypeOf<KnownDelivery["event"]>().toEqualTypeOf<contract.Delivery["event"]>();
  expectTypeOf<contract.Delivery>().toExtend<KnownDelivery>();
  expectTypeOf<contract.Delivery<"ride.completed">>().toExtend<DeliveryOf<"ride.completed">>();
  expectTypeOf<contract.Delivery<"station.offline">>().toExtend<DeliveryOf<"station.offline">>();
});

test("no field is missing here and none is added", () => {
  expectTypeOf<keyof DeliveryOf<"ride.completed">>().toEqualTypeOf<keyof contract.Delivery>();
  expectTypeOf<keyof DeliveryOf<"ride.completed">["data"]>().toEqualTypeOf<keyof contract.Ride>();
  expectTypeOf<keyof DeliveryOf<"station.online">["data"]>().toEqualTypeOf<keyof contract.Station>();
  expectTypeOf<keyof DeliveryOf<"reservation.created">["data"]>().toEqualTypeOf<keyof contract.Reservation>();
  expectTypeOf<keyof DeliveryOf<"bike.state_changed">["data"]>().toEqualTypeOf<keyof contract.Bike>();
});

test("comparing `event` with a name narrows `data`, and leaves unknown events unknown", () => {
  const delivery: Delivery = createTestDelivery({ event: "station.offline" });
  if (delivery.event === "station.offline") expectTypeOf(delivery.data.num_bikes_available).toEqualTypeOf<number>();
  const narrowed = (given: Delivery) => {
    switch (given.event) {
      case "ride.started":
      case "ride.completed":
      case "ride.cancelled":
        return expectTypeOf(given.data.bike_id).toEqualTypeOf<string>();
      default:
        return expectTypeOf<Extract<typeof given, UnknownDelivery>["data"]>().toBeUnknown();
    }
  };
  expect(narrowed(delivery)).toBeDefined();
});
