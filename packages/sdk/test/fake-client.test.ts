import { expect, it } from "vitest";
import { BikeShare } from "../src/index.ts";
import { createFakeBikeShare } from "../src/testing.ts";
import { type ClientHarness, describeClient } from "./client-suite.ts";

it("lists the vehicle types and regions that were described, and those that are only named", async () => {
  const fake = createFakeBikeShare({
    stations: [{ id: "s1", region_id: "north" }],
    bikes: [
      { id: "b1", vehicle_type_id: "ebike" },
      { id: "b2", vehicle_type_id: "other" },
    ],
    vehicleTypes: [{ id: "ebike", propulsion_type: "electric_assist" }],
    regions: [{ id: "centre", name: "Centre" }],
  });
  const client = new BikeShare(fake.options);
  const unknown = { name: null, form_factor: null, max_range_meters: null };
  expect(await client.vehicleTypes.list().toArray({ limit: Infinity })).toEqual([
    { ...unknown, id: "ebike", propulsion_type: "electric_assist" },
    { ...unknown, id: "other", propulsion_type: null },
  ]);
  expect(await client.regions.list().toArray({ limit: Infinity })).toEqual([
    { id: "centre", name: "Centre" },
    { id: "north", name: "north" },
  ]);
});

/** Returns the harness with the fake. The same tests also run on the service itself. */
function openFake(): ClientHarness {
  let time = Date.parse("2026-06-01T12:00:00.000Z");
  let rides = 0;
  const fake = createFakeBikeShare({ now: () => time, rateLimit: 1_000_000 });
  const { operator } = fake;
  return {
    baseUrl: fake.baseUrl,
    fetch: fake.fetch,
    key: async (options) => fake.issueKey(options),
    addStations: async (ids) => {
      for (const id of ids) operator.putStation({ id, region_id: "centre" });
    },
    addRides: async (ids) => {
      const first = Date.parse("2026-05-01T08:00:00.000Z");
      for (const id of ids) {
        operator.putRide({ id, bike_id: `of ${id}`, started_at: new Date(first + rides++ * 1000).toISOString() });
      }
    },
    addBikes: async (station, ids) => {
      for (const id of ids) operator.putBike({ id, station_id: station });
    },
    flushEvents: async () => {},
    now: () => time,
    advance: (ms) => void (time += ms),
    close: async () => {},
  };
}

describeClient("the fake", async () => openFake());
