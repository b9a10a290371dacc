import { readFileSync } from "node:fs";
import type * as contract from "@bikeshare/contract";
import { type EndpointMetadata, errorCodes, eventNames, partnerContract, scopeNames } from "@bikeshare/contract";
import { expect, expectTypeOf, test } from "vitest";
import { jsonTypeFiles } from "../../contract/tools/json-types-files.ts";
import type * as sent from "../src/json-types.generated.ts";
import { routes } from "../src/routes.generated.ts";
import { VERSION } from "../src/version.ts";
import { responseShapesFile, responseShapesText } from "../tools/response-shapes.ts";
import { routesFile, routesText, sandboxRoutesFile, sandboxRoutesText } from "../tools/routes.ts";

const advice = "run `pnpm --filter @bikeshare/sdk run generate`";

test("the generated types are up to date", () => {
  const file = jsonTypeFiles().find(({ url }) => url.pathname.endsWith("/sdk/src/json-types.generated.ts"));
  expect(readFileSync(file!.url, "utf8"), advice).toBe(file!.text);
});

test("the generated types of the sandbox are up to date", () => {
  const file = jsonTypeFiles().find(({ url }) => url.pathname.endsWith("/sandbox-types.generated.ts"));
  expect(readFileSync(file!.url, "utf8"), advice).toBe(file!.text);
});

test("the route tables are up to date", () => {
  expect(readFileSync(routesFile, "utf8"), advice).toBe(routesText());
  expect(readFileSync(sandboxRoutesFile, "utf8"), advice).toBe(sandboxRoutesText());
});

test("the route table has every endpoint of the partners, with its method, path, success and idempotency", () => {
  const inContract = Object.entries(partnerContract).map(([noun, verbs]) => [
    noun,
    Object.fromEntries(
      Object.entries(verbs).map(([verb, { method, path, metadata, responses }]) => {
        const { idempotent, scope } = metadata as EndpointMetadata;
        const success = Math.min(...Object.keys(responses as object).map(Number));
        const kind = [...(scope === "none" ? ["open"] : []), ...(idempotent ? ["idempotent"] : [])];
        return [verb, [`${method} ${path}`, success, ...kind]];
      }),
    ),
  ]);
  expect(routes).toEqual(Object.fromEntries(inContract));
});

test("the response shapes are up to date", () => {
  expect(readFileSync(responseShapesFile, "utf8"), advice).toBe(responseShapesText());
});

test("the version is the package's", () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(version);
});

/** A type without the unknown values of its open sets of strings. */
type Closed<Type> = { [Name in keyof Type]: ClosedField<Type[Name]> };
type ClosedField<Type> = [Literals<Type>] extends [never] ? Type : Literals<Type> | Exclude<Type, string>;
type Literals<Type> = Type extends string ? (string extends Type ? never : Type) : never;
/** The input type of a zod schema. */
type Input<Schema extends { readonly _input: unknown }> = Schema["_input"];

test("the contract's resources fit the types here, and vice versa except for unknown values", () => {
  expectTypeOf<contract.Station>().toExtend<sent.Station>();
  expectTypeOf<contract.Ride>().toExtend<sent.Ride>();
  expectTypeOf<contract.Bike>().toExtend<sent.Bike>();
  expectTypeOf<contract.Reservation>().toExtend<sent.Reservation>();
  expectTypeOf<contract.Me>().toExtend<sent.Me>();
  expectTypeOf<contract.ErrorBody>().toExtend<sent.ErrorBody>();
  expectTypeOf<contract.EventRecord>().toExtend<sent.KnownEventRecord>();
  expectTypeOf<Closed<sent.Station>>().toExtend<contract.Station>();
  expectTypeOf<Closed<sent.Ride>>().toExtend<contract.Ride>();
  expectTypeOf<Closed<sent.Bike>>().toExtend<contract.Bike>();
  expectTypeOf<Closed<sent.Reservation>>().toExtend<contract.Reservation>();
});

test("requests are what the contract accepts, and nothing else", () => {
  expectTypeOf<sent.StationListQuery>().toExtend<Input<typeof contract.stationListQuery>>();
  expectTypeOf<sent.RideListQuery>().toExtend<Input<typeof contract.rideListQuery>>();
  expectTypeOf<sent.BikeListQuery>().toExtend<Input<typeof contract.bikeListQuery>>();
  expectTypeOf<sent.ReservationListQuery>().toExtend<Input<typeof contract.reservationListQuery>>();
  expectTypeOf<sent.EventListQuery>().toExtend<Input<typeof contract.eventListQuery>>();
  expectTypeOf<sent.ReservationRequest>().toExtend<contract.ReservationRequest>();
  expectTypeOf<contract.ReservationRequest>().toExtend<sent.ReservationRequest>();
  expectTypeOf<keyof sent.RideListQuery>().toEqualTypeOf<keyof Input<typeof contract.rideListQuery>>();
  expectTypeOf<keyof sent.StationListQuery>().toEqualTypeOf<keyof Input<typeof contract.stationListQuery>>();
});

test("names are the contract's", () => {
  expectTypeOf<sent.EventName>().toEqualTypeOf<contract.EventName>();
  expectTypeOf<sent.Scope>().toEqualTypeOf<contract.Scope>();
  expectTypeOf<sent.ErrorCode>().toEqualTypeOf<contract.ErrorCode>();
  const text = readFileSync(new URL("../src/json-types.generated.ts", import.meta.url), "utf8");
  for (const name of [...eventNames, ...scopeNames, ...errorCodes]) expect(text).toContain(`"${name}"`);
});

test("an enum value may be new, and known ones are still suggested", () => {
  expectTypeOf<"a state of tomorrow">().toExtend<sent.Ride["status"]>();
  expectTypeOf<"completed">().toExtend<sent.Ride["status"]>();
  expectTypeOf<"a state of tomorrow">().not.toExtend<NonNullable<sent.RideListQuery["status"]>>();
});

test("comparing `event` with a name narrows `data`, and leaves unknown events unknown", () => {
  const narrowed = (event: sent.EventRecord) => {
    switch (event.event) {
      case "ride.completed":
        return expectTypeOf(event.data).toEqualTypeOf<sent.Ride>();
      case "station.offline":
        return expectTypeOf(event.data).toEqualTypeOf<sent.Station>();
      default:
        return expectTypeOf<Extract<typeof event, sent.UnknownEvent>["data"]>().toBeUnknown();
    }
  };
  expect(narrowed).toBeTypeOf("function");
});
