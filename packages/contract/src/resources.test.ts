import { describe, expect, test } from "vitest";
import { batchResults } from "./batch.ts";
import { bike, bikeList } from "./bikes.ts";
import { deliveryNames, eventNames } from "./event-names.ts";
import { deliveryOf, eventList, eventListQuery, eventRecord } from "./events.ts";
import { me } from "./me.ts";
import {
  exampleDelivery,
  exampleEvent,
  exampleBike,
  exampleMe,
  exampleRegion,
  exampleReservation,
  exampleRide,
  exampleStation,
  exampleVehicleType,
} from "./openapi/example-resources.ts";
import { region, regionList } from "./regions.ts";
import { reservation, reservationList } from "./reservations.ts";
import { ride, rideList } from "./rides.ts";
import { scopeOfEvent } from "./scopes.ts";
import { station, stationList } from "./stations.ts";
import { timestamp } from "./values.ts";
import { vehicleType, vehicleTypeList } from "./vehicle-types.ts";

const resources = [
  { name: "Station", schema: station, example: exampleStation },
  { name: "Ride", schema: ride, example: exampleRide },
  { name: "Bike", schema: bike, example: exampleBike },
  { name: "VehicleType", schema: vehicleType, example: exampleVehicleType },
  { name: "Region", schema: region, example: exampleRegion },
  {
    name: "VehicleTypeList",
    schema: vehicleTypeList,
    example: { data: [exampleVehicleType], page: 1, total_pages: 1 },
  },
  { name: "RegionList", schema: regionList, example: { data: [exampleRegion], next_cursor: "c" } },
  { name: "Me", schema: me, example: exampleMe },
  { name: "StationList", schema: stationList, example: { data: [exampleStation], page: 1, total_pages: 1 } },
  { name: "RideList", schema: rideList, example: { data: [exampleRide], next_cursor: "c" } },
  { name: "BikeList", schema: bikeList, example: { data: [] } },
  { name: "Reservation", schema: reservation, example: exampleReservation },
  { name: "ReservationList", schema: reservationList, example: { data: [exampleReservation], next_cursor: "c" } },
  { name: "EventList", schema: eventList, example: { data: eventNames.map((event) => exampleEvent(event)) } },
  {
    name: "BatchResults",
    schema: batchResults,
    example: {
      results: [{ id: null, outcome: "failed", error: { error: "not_found", message: "m" }, warning: null }],
      failed: 1,
    },
  },
  ...eventNames.map((event) => ({
    name: `event ${event}`,
    schema: eventRecord.optionsMap.get(event)!,
    example: exampleEvent(event),
  })),
  ...deliveryNames.map((event) => ({
    name: `delivery of ${event}`,
    schema: deliveryOf(event),
    example: exampleDelivery(event),
  })),
];

describe.each(resources)("the schema of $name", ({ schema, example }) => {
  test("takes its example", () => {
    expect(schema.parse(example)).toEqual(example);
  });

  test("refuses a field it does not know, at every depth", () => {
    for (const { path, invalid } of objectsIn(example, (object) => ({ ...object, surprise: 1 }))) {
      expect(schema.safeParse(invalid).error?.issues, path).toEqual([
        expect.objectContaining({ code: "unrecognized_keys", keys: ["surprise"] }),
      ]);
    }
  });

  test("refuses a nullable field that is absent rather than null, and takes it as null", () => {
    const nullable = Object.entries(schema.shape).filter(([, field]) => field.isNullable());
    for (const [name] of nullable) {
      const rest = Object.fromEntries(Object.entries(example).filter(([field]) => field !== name));
      expect(
        schema.safeParse(rest).error?.issues.map((issue) => issue.path),
        name,
      ).toEqual([[name]]);
      expect(schema.safeParse({ ...rest, [name]: null }).success, name).toBe(true);
    }
  });
});

test("a timestamp in JSON is an existing date and time, in UTC, to the millisecond", () => {
  expect(timestamp.safeParse("2026-01-31T08:00:00.000Z").success).toBe(true);
  for (const text of [
    "2026-01-31T08:00:00Z",
    "2026-01-31T08:00:00.000+00:00",
    "2026-02-30T08:00:00.000Z",
    "2026-01-31 08:00:00.000Z",
  ]) {
    expect(timestamp.safeParse(text).success, text).toBe(false);
  }
});

test("every event has a record of its own in the union, and an event whose data is another resource is refused", () => {
  expect([...eventRecord.optionsMap.keys()]).toEqual(eventNames);
  expect(eventRecord.safeParse({ ...exampleEvent("ride.started"), data: exampleStation }).success).toBe(false);
  expect(eventRecord.safeParse({ ...exampleEvent("ride.started"), event: "ride.teleported" }).success).toBe(false);
});

test("what is delivered is every event of the list and the two notices, which the list refuses", () => {
  expect(deliveryNames).toEqual([...eventNames, "station.updated", "bike.state_changed"]);
  const notice = { ...exampleEvent("station.online"), event: "station.updated" };
  expect(eventRecord.safeParse(notice).success).toBe(false);
  expect(eventListQuery.safeParse({ event: "bike.state_changed" }).success).toBe(false);
});

test("each event needs the read scope of its resource, which is a scope", () => {
  const needed = deliveryNames.map((event) => [event.split(".")[0], scopeOfEvent(event)]);
  expect(new Map(needed as [string, string][])).toEqual(
    new Map([
      ["ride", "rides:read"],
      ["station", "stations:read"],
      ["reservation", "reservations:read"],
      ["bike", "bikes:read"],
      ["alert", "stations:read"],
    ]),
  );
});

test("a rider's identity has no place in a ride", () => {
  expect(Object.keys(ride.shape).filter((name) => /user|person|name|birth|gender|email|phone/.test(name))).toEqual([]);
});

/** Returns, for each object within `value`, a copy of the whole value in which `change` was made to this object. */
function objectsIn(
  value: unknown,
  change: (object: Record<string, unknown>) => unknown,
  path = "$",
): { path: string; invalid: unknown }[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, child]) =>
    objectsIn(child, change, `${path}.${key}`).map((found) => ({
      path: found.path,
      invalid: Array.isArray(value)
        ? value.map((item: unknown, index) => (String(index) === key ? found.invalid : item))
        : { ...value, [key]: found.invalid },
    })),
  );
  return Array.isArray(value) ? inner : [{ path, invalid: change({ ...value }) }, ...inner];
}
