import { afterAll, beforeAll, expect, test } from "vitest";
import { call, type GbfsOutHarness, openGbfsOutHarness } from "../../../test/gbfs-out/gbfs-out.harness.ts";
import { city23, CITY_TIME, sourceOf } from "../../../test/gbfs/city.ts";
import { createSystem } from "../../city/systems/service.ts";
import { importSnapshot } from "../gbfs/import.ts";

let harness: GbfsOutHarness;
afterAll(() => harness.close());

type Document = { data: Record<string, Record<string, unknown>[]> };
const read = async (path: string) => JSON.parse((await call(harness.url + path)).body) as Document;
const vehicleIds = ({ data }: Document) => (data["vehicles"] ?? []).map((vehicle) => String(vehicle["vehicle_id"]));

const path = "/gbfs/imported/3.0/vehicle_status.json";
beforeAll(async () => {
  harness = await openGbfsOutHarness();
  await createSystem(harness.db, "lyft", "lyft", harness.clock());
  await createSystem(harness.db, "imported", "imported", harness.clock());
  const documents = {
    ...city23(),
    system_information: {
      last_updated: CITY_TIME / 1000,
      data: { name: "City", language: "de", timezone: "Europe/Berlin" },
    },
    vehicle_types: {
      last_updated: CITY_TIME / 1000,
      data: {
        vehicle_types: [
          {
            vehicle_type_id: "bike",
            form_factor: "bicycle",
            propulsion_type: "electric_assist",
            max_range_meters: 50_000,
            name: "E",
          },
        ],
      },
    },
  };
  await importSnapshot(
    harness.db,
    { systemId: "imported", source: "feed", now: harness.clock(), ids: harness.live.ids },
    sourceOf(documents),
  );
});

test("is called and described as its source does while the operator says nothing", async () => {
  expect((await read("/gbfs/imported/2.3/system_information.json")).data).toEqual({
    system_id: "imported",
    language: "de",
    name: "City",
    timezone: "Europe/Berlin",
  });
  const { data } = await read("/gbfs/imported/3.0/vehicle_types.json");
  expect(data["vehicle_types"]).toContainEqual({
    vehicle_type_id: "bike",
    form_factor: "bicycle",
    propulsion_type: "electric_assist",
    max_range_meters: 50_000,
    name: [{ text: "E", language: "de" }],
    return_constraint: "hybrid",
  });
});

test("counts the vehicles of a station so that its types add up to them, though its source counts scooters apart", async () => {
  const { station_information, station_status } = city23() as {
    station_information: object;
    station_status: { data: { stations: object[] } };
  };
  const stations = station_status.data.stations.map((station) => ({
    ...station,
    num_bikes_available: 2,
    num_scooters_available: 13,
    vehicle_types_available: [
      { vehicle_type_id: "bike", count: 2 },
      { vehicle_type_id: "scooter", count: 13 },
    ],
  }));
  await importSnapshot(
    harness.db,
    { systemId: "lyft", source: "feed", now: harness.clock(), ids: harness.live.ids },
    sourceOf({ station_information, station_status: { last_updated: CITY_TIME / 1000, data: { stations } } }),
  );
  for (const [version, total] of Object.entries({ "2.3": "num_bikes_available", "3.0": "num_vehicles_available" })) {
    for (const station of (await read(`/gbfs/lyft/${version}/station_status.json`)).data["stations"] ?? []) {
      expect(station).toMatchObject({ [total]: 15, vehicle_types_available: [{ count: 2 }, { count: 13 }] });
    }
  }
});

test("has one set of public ids and one document, whichever process is asked, also when all are asked at once", async () => {
  const others = await Promise.all([harness.process(), harness.process()]);
  const answers = await Promise.all(
    [harness.url, ...others.map(({ url }) => url)].flatMap((url) => [call(url + path), call(url + path, {})]),
  );
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  expect(new Set(answers.map(({ headers }) => headers["etag"])).size).toBe(1);
  const ids = vehicleIds(JSON.parse(answers[0]?.body ?? "") as Document);
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^v_[\w-]{20}$/);
});

test("is never 304 by date alone when its date is also that of another document", async () => {
  const first = await call(harness.url + path);
  const date = { "if-modified-since": String(first.headers["last-modified"]) };
  harness.clock.advance(-60_000); // the clock goes back: the next document gets the same second as the last
  await importSnapshot(
    harness.db,
    { systemId: "imported", source: "other", now: harness.clock(), ids: harness.live.ids },
    sourceOf({
      free_bike_status: {
        last_updated: CITY_TIME / 1000,
        data: { bikes: [{ bike_id: "o1", lat: 1, lon: 1, is_reserved: false, is_disabled: false }] },
      },
    }),
  );
  const { url } = await harness.process();
  const second = await call(url + path, date);
  expect([second.status, second.headers["last-modified"]]).toEqual([200, first.headers["last-modified"]]);
  expect(second.body).not.toBe(first.body);
  expect((await call(url + path, { "if-none-match": String(second.headers["etag"]) })).status).toBe(304);
  harness.clock.advance(63_000);
});

test("keeps the same bytes while nothing changes, however often they are made", async () => {
  const { body } = await call((await harness.process()).url + path);
  harness.clock.advance(3_600_000);
  expect((await call((await harness.process()).url + path)).body).toBe(body);
});

test("is called and described as its first source does, whatever the others are called", async () => {
  await createSystem(harness.db, "two", "two", harness.clock());
  for (const [source, name] of [
    ["west", "First"],
    ["almere", "Second"],
  ] as const) {
    const system_information = { last_updated: CITY_TIME / 1000, data: { name, timezone: "Europe/Oslo" } };
    const documents = { free_bike_status: city23()["free_bike_status"] ?? {}, system_information };
    const context = { systemId: "two", source, now: harness.clock(), ids: harness.live.ids };
    await importSnapshot(harness.db, context, sourceOf(documents));
  }
  expect((await read("/gbfs/two/2.3/system_information.json")).data["name"]).toBe("First");
});
