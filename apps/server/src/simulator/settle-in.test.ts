import type { Bike, Ride } from "@bikeshare/contract";
import { expect, it } from "vitest";
import { createAgenda } from "./agenda.ts";
import type { SeenCity } from "./city-reader.ts";
import { makeCity } from "./city.ts";
import type { Command } from "./commands.ts";
import { createCityLife } from "./life.ts";
import { createRandom } from "./random.ts";
import { settleIn } from "./settle-in.ts";

const city = makeCity(createRandom(1), { stations: 2, bikes: 2 });
const [station] = city.stations;
const [idle, taken] = city.bikes.map(({ id }) => id) as [string, string];
const INSTANT = "2026-05-04T06:00:00.000Z";
const MOMENT = 6 * 3_600_000;

const standing = (id: string): Bike => ({
  id,
  number: null,
  vehicle_type_id: null,
  vehicle_state: "available",
  station_id: station.id,
  lat: station.lat,
  lon: station.lon,
  current_range_meters: null,
  last_reported: null,
  updated_at: INSTANT,
});

const riding = (bikeId: string): Ride => ({
  id: "ride-1",
  bike_id: bikeId,
  status: "started",
  start_station_id: station.id,
  end_station_id: null,
  started_at: INSTANT,
  ended_at: null,
  duration_seconds: null,
  distance_meters: null,
  vehicle_type_id: null,
  rider_category: null,
  end_reason: null,
  is_countable: null,
  updated_at: INSTANT,
});

it("a bike that was taken after it was looked at is not believed to stand: its ride is ended, and it is brought", async () => {
  const told: Command[] = [];
  const tell = (command: Command) => told.push(command);
  const agenda = createAgenda();
  const life = createCityLife({ city, seed: 1, run: "test", agenda, instantOf: (moment) => moment, tell });
  const seen: SeenCity = {
    stations: new Map(),
    bikes: new Map([idle, taken].map((id) => [id, standing(id)])),
    rides: [riding(taken)],
  };
  await settleIn({ city, seed: 1, life, moment: MOMENT, tell, flush: () => Promise.resolve() }, seen);

  expect([...life.standing()]).toEqual([[idle, station]]);
  expect(told.filter(({ path }) => path === "rides/end")).toMatchObject([{ about: taken, item: { id: "ride-1" } }]);
  agenda.runUntil(MOMENT + 3_600_000);
  expect([...life.standing().keys()].toSorted()).toEqual([idle, taken].toSorted());
});
