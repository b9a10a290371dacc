import { afterAll, beforeAll, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness } from "../../../test/fleet/fleet.harness.ts";
import { saidBy } from "../../../test/gbfs/said-by.ts";
import { listActs } from "../../partners/audit/queries.ts";
import type { QueryRunner } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import {
  describe,
  describedAll,
  describedOne,
  describedSystem,
  mainLanguageOf,
  missingFacts,
  removeDescription,
} from "./service.ts";

let room: FleetHarness;
beforeAll(async () => {
  room = await openFleetHarness();
  await room.stations({ id: "harbour", name: "Harbour", lat: 59.9, lon: 10.7, region_id: "north" });
  await room.bikes({ id: "b1", station_id: "harbour", vehicle_type_id: "ebike" });
});
afterAll(() => room.close());

const acting = () => ({ ...room.live, actor: "test" });
const plan = { name: "Ride", currency: "EUR", price: 1, is_taxable: true, description: "1 €" };

test("the operator's value wins over a source's, a source's over a default, and each says who gives it", async () => {
  expect(missingFacts((await describedSystem(room.db, room.systemId))!)).toContain("timezone");
  await saidBy(room.db, room.systemId, {
    feed: "system_information",
    content: { name: [{ text: "Feed", language: "de" }], language: "de", timezone: "Europe/Berlin" },
  });
  await describe(acting(), room.systemId, "system", "", { timezone: "europe/oslo", name: "Bysykkel" });
  expect(await describedSystem(room.db, room.systemId)).toMatchObject({
    published: {
      timezone: "Europe/Oslo",
      language: "de",
      name: [{ text: "Bysykkel", language: "de" }],
      opening_hours: "24/7",
    },
    own: { timezone: "Europe/Oslo" },
    from: { timezone: "operator", language: "source", opening_hours: "default" },
  });
  expect((await systemsOf(room.db))[0]?.name).toBe("Bysykkel");
  const taken = await describe(acting(), room.systemId, "system", "", { timezone: null, name: null });
  expect(taken.published).toMatchObject({ timezone: "Europe/Berlin", name: [{ text: "Feed", language: "de" }] });
  expect(await listActs(room.db, room.systemId, { limit: 2 })).toMatchObject([
    { action: "system.described", actor: "test", detail: { timezone: null } },
    { action: "system.described", detail: { timezone: "europe/oslo" } },
  ]);
});

test("a system whose facts the operator removes is listed by its id again", async () => {
  await describe(acting(), room.systemId, "system", "", { name: "Bysykkel" });
  expect((await systemsOf(room.db))[0]?.name).toBe("Bysykkel");
  expect(await removeDescription(acting(), room.systemId, "system", "")).toBe(true);
  expect(await listActs(room.db, room.systemId, { limit: 1 })).toMatchObject([
    { action: "system.removed", subject: room.systemId },
  ]);
  expect((await systemsOf(room.db))[0]?.name).toBe(room.systemId);
  expect((await describedSystem(room.db, room.systemId))?.own).toEqual({});
});

test("what refers to an unknown plan, station or bike is refused, and nothing is half set", async () => {
  const ofType = describe(acting(), room.systemId, "vehicle_type", "ebike", {
    name: "E-bike",
    default_pricing_plan_id: "none",
  });
  await expect(ofType).rejects.toThrow(/default_pricing_plan_id cannot be "none": it must be the id of a pricing plan/);
  expect((await describedOne(room.db, room.systemId, "vehicle_type", "ebike")).own).toEqual({});
  await expect(describe(acting(), room.systemId, "station", "nowhere", { city: "Oslo" })).rejects.toThrow(/no station/);
  await expect(describe(acting(), room.systemId, "bike", "nobody", {})).rejects.toThrow(/no bike/);
  expect((await describe(acting(), room.systemId, "station", "harbour", { city: "Oslo" })).own).toEqual({
    city: "Oslo",
  });
});

test.each(["..", "two words", "nørrebro"])(
  "a new thing is not called %s, which neither GBFS 3.0 nor a path takes; one of a feed may be",
  async (id) => {
    const name = describe(acting(), room.systemId, "region", id, { name: "North" });
    await expect(name).rejects.toThrow(/id cannot be ".*": it must be/);
    expect((await describedAll(room.db, room.systemId, "region")).map((each) => each.id)).not.toContain(id);
    if (id === "..") return;
    await room.stations({ id: `at ${id}`, name: "S", lat: 59.9, lon: 10.7, region_id: id });
    expect((await describe(acting(), room.systemId, "region", id, { name: "North" })).own.name).toMatchObject([{}]);
    await room.stations({ id: `at ${id}`, name: "S", lat: 59.9, lon: 10.7, region_id: null });
    await removeDescription(acting(), room.systemId, "region", id);
  },
);

test("a plan is not removed while a vehicle type names it, whichever of two transactions comes first", async () => {
  for (let round = 0; round < 10; round++) {
    await describe(acting(), room.systemId, "pricing_plan", "ride", plan);
    await describe(acting(), room.systemId, "vehicle_type", "ebike", { default_pricing_plan_id: null });
    await Promise.allSettled([
      describe(acting(), room.systemId, "vehicle_type", "ebike", { default_pricing_plan_id: "ride" }),
      removeDescription(acting(), room.systemId, "pricing_plan", "ride"),
    ]);
    const plans = (await describedAll(room.db, room.systemId, "pricing_plan")).map(({ id }) => id);
    const { default_pricing_plan_id: named } = (await describedOne(room.db, room.systemId, "vehicle_type", "ebike"))
      .own;
    expect(named === undefined || plans.includes(named)).toBe(true);
    expect(named !== undefined || !plans.includes("ride")).toBe(true);
  }
});

test("types and regions in use are listed without a description, and described ones stay until nothing names them", async () => {
  expect((await describedAll(room.db, room.systemId, "region")).map(({ id }) => id)).toEqual(["north"]);
  await describe(acting(), room.systemId, "region", "north", { name: "The north" });
  await expect(removeDescription(acting(), room.systemId, "region", "north")).rejects.toThrow(
    /stations refer to north/,
  );
  await describe(acting(), room.systemId, "region", "west", { name: "West" });
  await removeDescription(acting(), room.systemId, "region", "west");
  expect(await removeDescription(acting(), room.systemId, "region", "west")).toBe(false);
  await saidBy(room.db, room.systemId, {
    feed: "system_regions",
    content: [{ region_id: "north", name: [{ text: "Nord", language: "de" }] }],
  });
  await removeDescription(acting(), room.systemId, "region", "north");
  expect((await describedOne(room.db, room.systemId, "region", "north")).published.name).toMatchObject([
    { text: "Nord" },
  ]);
});

test("zones keep the vehicle types that their rules name, whatever other words are in them", async () => {
  const ring = [
    [10, 59],
    [11, 59],
    [11, 60],
    [10, 59],
  ];
  const rule = { ride_start_allowed: true, ride_end_allowed: true, ride_through_allowed: true };
  const ids = ["Feature", "rules", "zone", "tandem", "trike", "older"];
  for (const id of ids) await describe(acting(), room.systemId, "vehicle_type", id, { name: id });
  await describe(acting(), room.systemId, "geofencing_zones", "", {
    features: [
      {
        type: "Feature",
        geometry: { type: "MultiPolygon", coordinates: [[ring]] },
        properties: { name: [{ text: "zone", language: "en" }], rules: [{ ...rule, vehicle_type_ids: ["tandem"] }] },
      },
    ],
    global_rules: [
      { ...rule, vehicle_type_ids: ["trike"] },
      { ...rule, vehicle_type_id: ["older"] },
    ],
  });
  const remove = (id: string) => removeDescription(acting(), room.systemId, "vehicle_type", id);
  for (const id of ["tandem", "trike", "older"]) await expect(remove(id)).rejects.toThrow(`zones refer to ${id}`);
  for (const id of ["Feature", "rules", "zone"]) expect(await remove(id)).toBe(true);
  await removeDescription(acting(), room.systemId, "geofencing_zones", "");
  for (const id of ["tandem", "trike", "older"]) expect(await remove(id)).toBe(true);
});

test("two changes of one thing at once both remain", async () => {
  await Promise.all([
    describe(acting(), room.systemId, "vehicle_type", "cargo", { name: "Cargo" }),
    describe(acting(), room.systemId, "vehicle_type", "cargo", { form_factor: "cargo_bicycle" }),
    describe(acting(), room.systemId, "vehicle_type", "cargo", { wheel_count: 3 }),
  ]);
  expect((await describedOne(room.db, room.systemId, "vehicle_type", "cargo")).own).toMatchObject({
    ...{ form_factor: "cargo_bicycle", wheel_count: 3 },
    name: [{ text: "Cargo" }],
  });
});

test("a list, an alert and a change of facts read no zones of a source, which have megabytes", async () => {
  await saidBy(room.db, room.systemId, { feed: "geofencing_zones", content: { features: [], global_rules: [] } });
  const read: string[] = [];
  const db: QueryRunner = {
    query: async (text, values) => {
      const rows = await room.db.query(text, values);
      read.push(JSON.stringify(rows));
      return rows as never;
    },
  };
  await describedAll(db, room.systemId, "region");
  await describedAll(db, room.systemId, "vehicle_type");
  await mainLanguageOf(db, room.systemId);
  expect(read.filter((rows) => rows.includes("geofencing_zones"))).toEqual([]);
  const zones = await describedOne(db, room.systemId, "geofencing_zones", "");
  expect(zones.from).toEqual({ features: "source", global_rules: "source" });
});
