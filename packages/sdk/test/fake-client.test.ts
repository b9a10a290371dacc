import { createFakeBikeShare } from "../src/testing.ts";
import { type ClientRoom, describeClient } from "./client-suite.ts";

/** The fake, in the room where the client's tests are run on the service itself too. */
function openFake(): ClientRoom {
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
    settleEvents: async () => {},
    now: () => time,
    advance: (ms) => void (time += ms),
    close: async () => {},
  };
}

describeClient("the fake", async () => openFake());
