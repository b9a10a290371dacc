import { type Bike, bike, type Ride, ride, withNulls } from "@bikeshare/contract";
import { expect, it } from "vitest";
import { createSchedule } from "./backend.ts";
import { bootstrapCity } from "./bootstrap.ts";
import { createCityLife } from "./city-life.ts";
import { makeCity } from "./city.ts";
import type { Command, ObservedCity } from "./operator-client.ts";
import { createRandom } from "./random.ts";

const city = makeCity(createRandom(1), { stations: 2, bikes: 2 });
const [station] = city.stations;
const [idle, taken] = city.bikes.map(({ id }) => id) as [string, string];
const INSTANT = "2026-05-04T06:00:00.000Z";
const TIME = 6 * 3_600_000;

const standing = (id: string): Bike =>
  withNulls(bike, {
    ...{ id, vehicle_state: "available", station_id: station.id, updated_at: INSTANT },
    ...{ lat: station.lat, lon: station.lon },
  });

const riding = (bikeId: string): Ride =>
  withNulls(ride, {
    ...{ id: "ride-1", bike_id: bikeId, status: "started", start_station_id: station.id },
    ...{ started_at: INSTANT, updated_at: INSTANT },
  });

/** A city before its simulation begins, with one idle bike and one that is on a ride. */
function openCity() {
  const sent: Command[] = [];
  const send = (command: Command) => sent.push(command);
  const schedule = createSchedule();
  const life = createCityLife({ city, seed: 1, run: "test", schedule, instantOf: (time) => time, send });
  const observed: ObservedCity = {
    stations: new Map(),
    bikes: new Map([idle, taken].map((id) => [id, standing(id)])),
    rides: [riding(taken)],
  };
  const clock = () => Date.parse(INSTANT);
  const options = { city, seed: 1, life, time: TIME, send, flush: () => Promise.resolve(), clock };
  return { life, schedule, observed, options, ends: () => sent.filter(({ path }) => path === "rides/end") };
}

it("the ride of a bike that was taken after the bikes were read is ended, and the bike is returned to a station", async () => {
  const { life, schedule, observed, options, ends } = openCity();
  await bootstrapCity(options, observed);

  expect([...life.standing()]).toEqual([[idle, station]]);
  expect(ends()).toMatchObject([{ subjectId: taken, item: { id: "ride-1" } }]);
  schedule.runUntil(TIME + 3_600_000);
  expect([...life.standing().keys()].toSorted()).toEqual([idle, taken].toSorted());
});

it("a ride that the city was made with goes on to its end, where its bike can be taken again", async () => {
  const { life, schedule, observed, options, ends } = openCity();
  const ridden = city.bikes[1] ?? { id: taken, vehicleTypeId: "bike", isElectric: false };
  const to = city.stations[1] ?? station;
  const times = { startedAt: Date.parse(INSTANT) - 60_000, endedAt: Date.parse(INSTANT) + 600_000 };
  const trip = { from: station, to, distanceMeters: 900, riderCategory: "member" } as const;
  const over = { ...trip, ...times, id: "ride-0", bike: { ...ridden, id: idle } };
  await bootstrapCity({ ...options, underWay: [{ ...trip, ...times, id: "ride-1", bike: ridden }, over] }, observed);

  expect([...life.standing()]).toEqual([[idle, station]]);
  expect(life.riding()).toBe(1);
  schedule.runUntil(TIME + 599_999);
  expect(ends()).toEqual([]);
  schedule.runUntil(TIME + 600_000);
  expect(ends()).toMatchObject([{ subjectId: taken, item: { id: "ride-1", end_station_id: to.id } }]);
  expect(life.standing().get(taken)).toBe(to);
});
