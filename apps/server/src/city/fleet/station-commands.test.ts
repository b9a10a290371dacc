import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { applySnapshot } from "../../feeds/gbfs/apply.ts";
import { readVehicles } from "../../feeds/gbfs/documents.ts";

let harness: FleetHarness;
let id: string;
let made = 0;

beforeAll(async () => {
  harness = await openFleetHarness();
});
afterAll(() => harness.close());

beforeEach(() => {
  id = `station-${++made}`;
});

const state = async () => {
  const { status, offline_reason: reason } = await harness.station(id);
  return [status, reason];
};
const events = async () => (await harness.events()).filter((event) => event.endsWith(` ${id}`));

describe("stations of the operator's", () => {
  test("are made whole, and changed in parts", async () => {
    expect(outcomes(await harness.stations({ id, name: "No place" }))).toEqual(["invalid_parameter"]);
    expect(outcomes(await harness.stations(stationItem(id, { capacity: 20 })))).toEqual(["created"]);
    expect(
      outcomes(await harness.stations({ id, name: "Main square" }, { id, address: "1, Main street" }, { id })),
    ).toEqual(["updated", "updated", "unchanged"]);
    expect(await harness.station(id)).toMatchObject({
      name: "Main square",
      address: "1, Main street",
      capacity: 20,
      status: "online",
      counters: "operated",
    });
    await harness.expectSound();
  });

  test("are made once, however many make them at the same time", async () => {
    const results = await Promise.all(Array.from({ length: 6 }, () => harness.stations(stationItem(id))));
    expect(results.flatMap(outcomes).sort()).toEqual(["created", ...Array<string>(5).fill("unchanged")]);
    await harness.expectSound();
  });

  test("count the bikes that stand there, held ones and broken ones by themselves", async () => {
    await harness.stations(stationItem(id));
    await harness.bikes(
      ...["a", "b", "c", "d"].map((name) => ({
        id: `${id}-${name}`,
        station_id: id,
        vehicle_type_id: name < "c" ? "classic" : "e",
      })),
    );
    await harness.reserve({ bike_id: `${id}-a` });
    await harness.bikes({ id: `${id}-d`, vehicle_state: "non_operational" });
    await harness.start({ id: `${id}-ride`, bike_id: `${id}-c` });
    expect(await harness.station(id)).toMatchObject({
      num_bikes_available: 1,
      num_bikes_reserved: 1,
      num_bikes_disabled: 1,
      vehicle_types_available: [
        { vehicle_type_id: "classic", count: 1 },
        { vehicle_type_id: "e", count: 0 },
      ],
    });
    await harness.expectSound();
  });

  test("go offline once and come back once: one event each, however often it is said", async () => {
    await harness.stations(stationItem(id));
    expect(outcomes(await harness.offline({ id }, { id }))).toEqual(["updated", "unchanged"]);
    expect(outcomes(await harness.offline({ id }))).toEqual(["unchanged"]);
    expect(await state()).toEqual(["offline", "operator"]);
    expect(outcomes(await harness.online({ id }, { id }))).toEqual(["updated", "unchanged"]);
    expect(await state()).toEqual(["online", null]);
    expect(await events()).toEqual([`station.offline ${id}`, `station.online ${id}`]);
  });

  test("go offline once when many say so at the same time", async () => {
    await harness.stations(stationItem(id));
    const results = await Promise.all(Array.from({ length: 6 }, () => harness.offline({ id })));
    expect(results.flatMap(outcomes).filter((outcome) => outcome === "updated")).toHaveLength(1);
    expect(await events()).toEqual([`station.offline ${id}`]);
  });

  test("go offline by their flags, and stay so when brought online while the flags say so", async () => {
    await harness.stations(stationItem(id));
    await harness.stations({ id, is_renting: false });
    expect(await events()).toEqual([]);
    await harness.stations({ id, is_returning: false });
    expect(await state()).toEqual(["offline", "flags"]);
    expect(outcomes(await harness.online({ id }))).toEqual(["unchanged"]);
    await harness.stations({ id, is_returning: true });
    expect(await events()).toEqual([`station.offline ${id}`, `station.online ${id}`]);
  });

  test("that the operator took offline stay so, whatever their flags say", async () => {
    await harness.stations(stationItem(id));
    await harness.offline({ id });
    await harness.stations({ id, is_renting: false }, { id, is_renting: true, name: "Changed" });
    expect(await state()).toEqual(["offline", "operator"]);
    expect(await events()).toEqual([`station.offline ${id}`]);
  });

  test("that are not built yet are planned, without events until they open", async () => {
    await harness.stations(stationItem(id, { is_installed: false }));
    expect(await state()).toEqual(["planned", null]);
    await harness.stations({ id, is_installed: true });
    expect(await events()).toEqual([`station.online ${id}`]);
  });

  test("that are removed go offline for good, and their id is never used again", async () => {
    await harness.stations(stationItem(id));
    expect(outcomes(await harness.remove({ id }, { id }))).toEqual(["updated", "unchanged"]);
    expect(await state()).toEqual(["removed", null]);
    expect(outcomes(await harness.stations(stationItem(id)))).toEqual(["invalid_parameter"]);
    expect(outcomes(await harness.online({ id }))).toEqual(["not_found"]);
    expect(outcomes(await harness.offline({ id }))).toEqual(["not_found"]);
    expect(await state()).toEqual(["removed", null]);
    expect(await events()).toEqual([`station.offline ${id}`]);
  });

  test("that are unknown are taken offline, brought online and removed by nobody", async () => {
    for (const verb of [harness.offline, harness.online, harness.remove])
      expect(outcomes(await verb({ id }))).toEqual(["not_found"]);
    expect(await events()).toEqual([]);
  });
  test("that are unknown cannot be removed either where a feed has bikes at them", async () => {
    const { db, live, systemId } = harness;
    const bikes = [
      { bike_id: `${id}-b`, lat: 59.9, lon: 10.7, station_id: id, is_reserved: false, is_disabled: false },
    ];
    const feed = readVehicles("free_bike_status", { last_updated: live.clock() / 1000, data: { bikes } }, live.clock());
    const context = { systemId, source: "feed", now: live.clock(), ids: live.ids };
    await applySnapshot(db, context, { vehicles: feed });
    expect(outcomes(await harness.remove({ id }))).toEqual(["not_found"]);
  });
});
