import { station } from "@bikeshare/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { checkInvariants } from "../../health/check/service.ts";
import { statement } from "../../storage/db/statement.ts";

let harness: FleetHarness;
const mirror = statement(
  "test.mirror",
  "update stations set counters = 'mirrored', num_bikes_available = 5 where system_id = $1",
);
const mirrorTypes = statement(
  "test.mirrorTypes",
  `update stations set counters = 'mirrored', num_bikes_available = 4, vehicle_types_available =
     '[{"vehicle_type_id":"classic","count":3},{"vehicle_type_id":"electric","count":1}]'
   where system_id = $1 and id = 'C'`,
);

beforeAll(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B"));
  await harness.bikes(...["1", "2", "3"].map((id) => ({ id, station_id: "A" })));
  await harness.db.query(mirror, [harness.systemId]);
});
afterAll(() => harness.close());

const counters = async () =>
  Promise.all(
    ["A", "B"].map(async (id) => {
      const { num_bikes_available: available, num_bikes_reserved: reserved } = await harness.station(id);
      return [available, reserved];
    }),
  );

test("rides and reservations move bikes between what mirrored stations count, until the feed speaks again", async () => {
  await harness.start({ id: "r1", bike_id: "1" });
  await harness.reserve({ bike_id: "2" });
  expect(await counters()).toEqual([
    [3, 1],
    [5, 0],
  ]);
  await harness.start({ id: "r2", bike_id: "2" });
  await harness.end({ id: "r1", end_station_id: "B" }, { id: "r2", end_station_id: "B" });
  expect(await counters()).toEqual([
    [3, 0],
    [7, 0],
  ]);
});

test("a bike that comes back broken is not counted as available at a mirrored station", async () => {
  const before = await counters();
  await harness.start({ id: "r3", bike_id: "1" });
  harness.clock.advance(60_000);
  await harness.report({ id: "1", at: new Date(harness.clock()).toISOString(), vehicle_state: "non_operational" });
  await harness.end({ id: "r3", end_station_id: "A", ended_at: new Date(harness.clock() - 30_000).toISOString() });
  expect(await counters()).toEqual([before[0], [Number(before[1]?.[0]) - 1, 0]]);
});

test("a mirrored station's types follow the bikes that come and go, and never add up to more than its bikes", async () => {
  await harness.stations(stationItem("C"));
  await harness.bikes(
    { id: "e1", station_id: "C", vehicle_type_id: "electric" },
    { id: "u1", station_id: "C" },
    { id: "x1", station_id: "C", vehicle_type_id: "unlisted" },
  );
  await harness.db.query(mirrorTypes, [harness.systemId]);
  const types = async () => {
    const { num_bikes_available, vehicle_types_available } = station.parse(
      JSON.parse(String((await harness.station("C"))["json"])),
    );
    return [num_bikes_available, ...vehicle_types_available.map((type) => `${type.vehicle_type_id} ${type.count}`)];
  };
  const { id } = await harness.reserve({ bike_id: "e1" });
  expect(await types()).toEqual([3, "classic 3", "electric 0"]);
  // The feed counted all four bikes under these types, so the bike that left must have been counted under one of them.
  await harness.reserve({ bike_id: "u1" });
  expect(await types()).toEqual([2, "classic 2", "electric 0"]);
  await harness.reserve({ bike_id: "x1" });
  expect(await types()).toEqual([1, "classic 1", "electric 0"]);
  await harness.giveBack(id);
  expect(await types()).toEqual([2, "classic 1", "electric 1"]);
  const broken = await checkInvariants(harness.db, harness.systemId);
  expect(broken.filter(({ name, broken: n }) => name === "station_types" && n > 0)).toEqual([]);
  await harness.db.query(
    statement("", "update stations set num_bikes_available = 1 where system_id = $1 and id = 'C'"),
    [harness.systemId],
  );
  const after = await checkInvariants(harness.db, harness.systemId);
  expect(after.find(({ name }) => name === "station_types")).toMatchObject({ broken: 1, examples: ["C"] });
});

test("bikes of two types that change places in one command are counted under their types", async () => {
  await harness.stations(stationItem("C"), stationItem("D"));
  await harness.bikes(
    { id: "e3", station_id: "C", vehicle_type_id: "electric" },
    { id: "c3", station_id: "D", vehicle_type_id: "classic" },
  );
  await harness.db.query(mirrorTypes, [harness.systemId]);
  harness.clock.advance(60_000);
  const at = new Date(harness.clock()).toISOString();
  await harness.report(
    { id: "e3", at, vehicle_state: "available", station_id: "D" },
    { id: "c3", at, vehicle_state: "available", station_id: "C" },
  );
  const { num_bikes_available, vehicle_types_available } = station.parse(
    JSON.parse(String((await harness.station("C"))["json"])),
  );
  expect([num_bikes_available, vehicle_types_available]).toEqual([
    4,
    [
      { vehicle_type_id: "classic", count: 4 },
      { vehicle_type_id: "electric", count: 0 },
    ],
  ]);
});
