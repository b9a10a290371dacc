import { createTestIds } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { CITY_TIME, city23, sourceOf } from "../../../test/gbfs/city.ts";
import { applySnapshot } from "./apply.ts";
import { MAX_STATION_FACTS, MAX_VEHICLE_FACTS, stationFacts, vehicleFacts } from "./canonical.ts";
import { descriptiveFeeds, readDescription } from "./descriptions.ts";
import { readStationInformation, readStationStatus, readVehicles } from "./documents.ts";
import { importSnapshot } from "./import.ts";
import type { GbfsSnapshot } from "./snapshot.ts";
import { listDescriptions } from "./source-descriptions.ts";

const NOW = CITY_TIME + 3_600_000;
const dated = (minute: number, data: object) => ({ last_updated: CITY_TIME / 1000 + minute * 60, data });
const stationsOf = (minute: number, facts: object) =>
  readStationInformation(dated(minute, { stations: [{ station_id: "a", name: "A", lat: 1, lon: 2, ...facts }] }), NOW);
const statusOf = (minute: number, facts: object = {}) => {
  const flags = { is_installed: 1, is_renting: 1, is_returning: 1 };
  return readStationStatus(
    dated(minute, { stations: [{ station_id: "a", num_bikes_available: 1, ...flags, ...facts }] }),
    NOW,
  );
};
const vehiclesOf = (minute: number, facts: object) =>
  readVehicles(
    "vehicle_status",
    dated(minute, { vehicles: [{ vehicle_id: "v", lat: 1, lon: 2, is_reserved: 0, is_disabled: 0, ...facts }] }),
    NOW,
  );

describe("facts of stations and vehicles", () => {
  let database: TestDatabase;
  let systemId: string;
  let systems = 0;
  const ids = createTestIds();
  beforeAll(async () => void (database = await createTestDatabase()));
  afterAll(() => database.close());
  beforeEach(() => void (systemId = `s${++systems}`));

  const apply = (snapshot: GbfsSnapshot) =>
    applySnapshot(database.db, { systemId, source: "gbfs", now: NOW, ids }, snapshot);
  const kept = async () => {
    const text = `select source_facts, vehicle_docks_available, xmin::text as version from stations where system_id = $1
      union all select source_facts, null, xmin::text from bikes where system_id = $1`;
    const rows = await database.db.query<{ source_facts: unknown; vehicle_docks_available: unknown; version: string }>(
      { name: "", text },
      [systemId],
    );
    return rows.map(({ source_facts, vehicle_docks_available }) => [source_facts, vehicle_docks_available]);
  };
  const versions = async () =>
    database.db.query({ name: "", text: "select xmin::text from stations where system_id = $1" }, [systemId]);

  test("are those of the newest snapshot that names the station, whatever the order of arrival; each feed has its own", async () => {
    const links = { rental_uris: { web: "https://b.no/a" }, parking_hoop: 1, vehicle_capacity: { ebike: 3 } };
    const docks = { vehicle_docks_available: [{ vehicle_type_ids: ["ebike"], count: 2 }] };
    await apply({ information: stationsOf(0, { post_code: "0001" }) });
    await apply({ status: statusOf(5, docks) });
    expect(await kept()).toEqual([[{ post_code: "0001" }, docks.vehicle_docks_available]]);
    await apply({ information: stationsOf(5, links) });
    // A late snapshot changes nothing.
    await apply({ information: stationsOf(3, { post_code: "0002" }), status: statusOf(3) });
    const { rental_uris } = links;
    const read = {
      rental_uris,
      parking_hoop: true,
      vehicle_types_capacity: [{ vehicle_type_ids: ["ebike"], count: 3 }],
    };
    expect(await kept()).toEqual([[read, docks.vehicle_docks_available]]);
    const before = await versions();
    const { stations } = await apply({ information: stationsOf(6, links), status: statusOf(6, docks) });
    expect([stations.unchanged, await versions()]).toEqual([1, before]);
    await apply({ information: stationsOf(7, {}), status: statusOf(7) });
    expect(await kept()).toEqual([[null, null]]);
  });

  test("of a vehicle change with it, and a snapshot of the same facts writes nothing", async () => {
    const facts = { current_fuel_percent: 50, pricing_plan_id: "p", rental_uris: { ios: "bikes://v" } };
    await apply({ vehicles: vehiclesOf(0, { current_fuel_percent: 1 }) });
    const changes = [];
    for (const minute of [1, 2]) changes.push((await apply({ vehicles: vehiclesOf(minute, facts) })).bikes);
    expect(changes).toMatchObject([{ updated: 1 }, { updated: 0, unchanged: 1 }]);
    expect(await kept()).toEqual([[{ ...facts, current_fuel_percent: 0.5 }, null]]);
  });

  test("a description is that of the newest document, and one that says the same is not written again", async () => {
    const plan = { plan_id: "p", name: "P", currency: "EUR", price: 1, is_taxable: true, description: "1 €" };
    const said = (minute: number, price: number) => ({
      descriptions: [readDescription("system_pricing_plans", dated(minute, { plans: [{ ...plan, price }] }), NOW)],
    });
    const prices = async () => {
      const descriptions = await listDescriptions(database.db, systemId, descriptiveFeeds);
      return descriptions.map(({ content }) => (content as { price: number }[])[0]?.price);
    };
    const written = async () =>
      database.db.query({ name: "", text: "select as_of, digest from gbfs_documents where system_id = $1" }, [
        systemId,
      ]);
    await apply(said(1, 1));
    await apply(said(0, 2));
    expect(await prices()).toEqual([1]);
    await apply(said(2, 1));
    expect(await written()).toMatchObject([{ as_of: new Date(CITY_TIME + 120_000) }]);
    await apply(said(3, 3));
    expect(await prices()).toEqual([3]);
  });

  test("an import says once which plans, stations and regions its records name and the source does not have", async () => {
    const documents = city23();
    const vehicles = (documents["free_bike_status"] as { data: { bikes: object[] } }).data.bikes;
    const bikes = vehicles.map((vehicle) => ({ ...vehicle, pricing_plan_id: "lost", home_station_id: "harbour" }));
    const alert = {
      alert_id: "1",
      type: "other",
      summary: "S",
      station_ids: ["square", "gone"],
      region_ids: ["north"],
    };
    const { problems } = await importSnapshot(
      database.db,
      { systemId: database.systemId, source: "gbfs", now: NOW, ids },
      sourceOf({
        ...documents,
        free_bike_status: dated(0, { bikes }),
        system_alerts: dated(0, { alerts: [alert] }),
      }),
    );
    expect(problems.map(({ feed, record, field, value, reason }) => [feed, record, field, value, reason])).toEqual([
      ["free_bike_status", "b1", "pricing_plan_id", "lost", "unknown_reference"],
      ["system_alerts", "1", "station_ids", "gone", "unknown_reference"],
      ["system_alerts", "1", "region_ids", "north", "unknown_reference"],
    ]);
  });
});

describe("what a hostile feed says is bounded", () => {
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.string({ minLength: 1_000, maxLength: 5_000 }),
    fc.array(fc.record({ vehicle_type_ids: fc.array(fc.string({ maxLength: 255 })), count: fc.jsonValue() }), {
      maxLength: 300,
    }),
  );
  const recordOf = (fields: readonly (readonly [string, unknown])[]) =>
    fc.record(Object.fromEntries(fields.map(([name]) => [name, anything])), { requiredKeys: [] });

  test("whatever is in the optional fields of a record, they are bounded JSON or nothing, and the record is kept", () => {
    fc.assert(
      fc.property(recordOf(stationFacts), recordOf(vehicleFacts), (station, vehicle) => {
        for (const [feed, max] of [
          [stationsOf(0, station), MAX_STATION_FACTS],
          [vehiclesOf(0, vehicle), MAX_VEHICLE_FACTS],
        ] as const) {
          const [{ source_facts: facts } = { source_facts: undefined }] = feed.records.values();
          expect(facts === null || (facts !== undefined && facts.length <= max)).toBe(true);
          JSON.parse(facts ?? "{}");
        }
      }),
      { numRuns: 50 },
    );
  });

  test("too many facts of a station cost the largest ones, and an outline of too many points itself", () => {
    const ring = (points: number) => Array.from({ length: points }, (_, n) => [n / points, 1]);
    const area = (points: number) => ({ type: "Polygon", coordinates: [ring(points)] });
    const feed = stationsOf(0, { post_code: "0001", station_area: area(5_000) });
    expect([feed.records.get("a")?.source_facts, feed.problems.map(({ reason }) => reason)]).toEqual([
      '{"post_code":"0001"}',
      ["too_large"],
    ]);
    const zone = (points: number) => ({ type: "Feature", geometry: area(points), properties: { name: "Z" } });
    const zones = (points: number) =>
      readDescription("geofencing_zones", dated(0, { geofencing_zones: { features: [zone(10), zone(points)] } }), NOW);
    expect([20_000, 60_000].map((points) => zones(points).json.split('"Feature"').length - 1)).toEqual([2, 1]);
  });

  test("a text is cut, an address that is too long or runs something is left out, a list ends", () => {
    const alert = (fields: object) =>
      readDescription("system_alerts", dated(0, { alerts: [{ alert_id: "1", summary: "S", ...fields }] }), NOW);
    const read = (fields: object) => (JSON.parse(alert(fields).json) as Record<string, unknown>[])[0];
    expect(read({ summary: "x".repeat(9_000) })).toMatchObject({ summary: [{ text: "x".repeat(2_000) }] });
    for (const url of [`https://b.no/${"x".repeat(2_000)}`, "javascript:alert(1)", "data:text/html,x", "no address"]) {
      expect(read({ url })).not.toHaveProperty("url");
    }
    expect(read({ station_ids: Array.from({ length: 9_000 }, (_, n) => n) })?.["station_ids"]).toHaveLength(5_000);
    expect(alert({ station_ids: Array.from({ length: 9_000 }, (_, n) => n) }).references).toHaveLength(1_000);
  });

  test("names of unknown fields are told once each, a hundred of them", () => {
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`_own${n}`, n]));
    expect(stationsOf(0, unknown).notTaken).toHaveLength(100);
    expect(stationsOf(0, { _own: 1 }).notTaken).toEqual(["_own"]);
  });
});
