import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { saidBy } from "../../test/gbfs/said-by.ts";
import { warnOfMissingFacts } from "../city/descriptions/service.ts";
import { listActs } from "../partners/audit/queries.ts";
import { registerPricingPlans, registerRegions, registerVehicleTypes, registerZones } from "./descriptions.ts";
import { registerSystems } from "./systems.ts";

let harness: CliHarness;
const clock = createTestClock();

beforeAll(async () => {
  harness = await openCliHarness({
    clock,
    register: (program, context) => {
      registerSystems(program, context);
      registerVehicleTypes(program, context);
      registerRegions(program, context);
      registerPricingPlans(program, context);
      registerZones(program, context);
    },
  });
});
afterAll(() => harness.close());

const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", ...args)).stdout) as Record<string, never>;

test("`systems list` and the log name the missing facts of a system, with the command that sets them", async () => {
  await harness.run("systems", "set", "--name", "");
  expect(await json("systems", "list")).toMatchObject({
    systems: [
      { id: "main", published: { timezone: "UTC" }, missing: ["name", "timezone", "language", "feed_contact_email"] },
    ],
  });
  const { stdout } = await harness.run("systems", "list");
  expect(stdout).toContain("systems set --name … --timezone … --language … --feed-contact-email …");
  const warned: object[] = [];
  await warnOfMissingFacts(harness.db, { warn: (fields) => warned.push(fields) });
  expect(warned).toEqual([{ system: "main", missing: ["name", "timezone", "language", "feed_contact_email"] }]);
});

test("`systems create` refuses an id that is no part of an address, and one that differs from another in capitals alone", async () => {
  for (const id of ["../x", "a/b", ".", "-x", "a b", "é"])
    await expect(harness.run("systems", "create", "--", id)).rejects.toThrow("letters, digits");
  await expect(harness.run("systems", "create", "Main")).rejects.toThrow("System main exists already and differs in");
  await expect(harness.run("systems", "create", "main")).rejects.toThrow("System main exists already. Choose");
});

test("`systems set` takes precedence over feeds, and an empty value removes a fact", async () => {
  await saidBy(harness.db, "main", {
    feed: "system_information",
    content: { name: [{ text: "Feed", language: "de" }], language: "de", timezone: "Europe/Berlin" },
  });
  const facts = ["--timezone", "europe/oslo", "--feed-contact-email", "feeds@bikes.example", "--licence", "cc-by-4.0"];
  const set = await json("systems", "set", ...facts, "--operator", "City Bikes", "--url", "https://bikes.example");
  expect(set).toEqual({
    id: "main",
    published: {
      published_id: "main",
      name: [{ text: "Feed", language: "de" }],
      language: "de",
      timezone: "Europe/Oslo",
      feed_contact_email: "feeds@bikes.example",
      licence: "CC-BY-4.0",
      operator: [{ text: "City Bikes", language: "de" }],
      url: "https://bikes.example",
      opening_hours: "24/7",
    },
    own: expect.objectContaining({ timezone: "Europe/Oslo" }) as object,
    from: expect.objectContaining({ timezone: "operator", language: "source", opening_hours: "default" }) as object,
    missing: [],
  });
  const names = ["--name", "nb=Bysykkel", "--name", "en=City bikes"];
  expect(await json("systems", "set", "--timezone", "", ...names)).toMatchObject({
    published: {
      name: [
        { text: "Bysykkel", language: "nb" },
        { text: "City bikes", language: "en" },
      ],
      timezone: "Europe/Berlin",
      feed_contact_email: "feeds@bikes.example",
    },
  });
  const { stdout } = await harness.run("systems", "show");
  expect(stdout).toMatch(/^timezone +Europe\/Berlin \(source\)$/m);
  expect(stdout).toMatch(/^name +nb=Bysykkel; en=City bikes$/m);
  expect(await listActs(harness.db, "main", { limit: 2 })).toMatchObject([
    { action: "system.described", actor: "cli:test", detail: { timezone: null } },
    { action: "system.described", detail: { licence: "cc-by-4.0" } },
  ]);
});

test.each([
  [["--timezone", "EST"], /timezone cannot be "EST": it must be an IANA time zone/],
  [["--licence", "mine"], /licence .* SPDX/],
  [["--timezone", "Europe/Oslo", "--timezone", "Europe/Berlin"], /given 2 times: give it once/],
  [["--name", "A", "--name", "B"], /begin each with its language/],
  [["--rental-apps", "{"], /must be JSON/],
  [[], /Give at least one of --published-id, --name/],
])("`systems set %j` is rejected with what is allowed", async (options, message) => {
  await expect(harness.run("systems", "set", ...options)).rejects.toThrow(message);
});

test("texts have the main language that is set with them", async () => {
  await harness.run("systems", "set", "--language", "nb", "--short-name", "Bysykkel");
  expect(await json("systems", "show")).toMatchObject({
    published: { language: "nb", short_name: [{ text: "Bysykkel", language: "nb" }] },
  });
  await harness.run("systems", "set", "--language", "", "--short-name", "");
});

test("`vehicle-types set` takes precedence over feeds field by field; types in use are listed; `remove` needs an unused one", async () => {
  await saidBy(harness.db, "main", {
    feed: "vehicle_types",
    content: [
      {
        vehicle_type_id: "ebike",
        name: [{ text: "E", language: "en" }],
        form_factor: "bicycle",
        propulsion_type: "electric",
        max_range_meters: 50_000.5,
      },
    ],
  });
  await harness.db.query({
    name: "",
    text: `insert into bikes (system_id, id, vehicle_type_id, vehicle_state, updated_at, source)
      values ('main', 'b1', 'ebike', 'available', now(), 'operator'), ('main', 'b2', 'classic', 'removed', now(), 'operator'),
        ('main', 'b3', 'classic', 'available', now(), 'operator')`,
  });
  await harness.db.query({
    name: "",
    text: `insert into rides (system_id, id, bike_id, status, started_at, ended_at, vehicle_type_id, updated_at, source)
      values ('main', 'r1', 'b0', 'completed', now(), now(), 'docked_bike', now(), 'trips')`,
  });
  expect(await json("vehicle-types", "set", "ebike", "--propulsion-type", "electric_assist")).toMatchObject({
    id: "ebike",
    published: {
      name: [{ text: "E" }],
      form_factor: "bicycle",
      propulsion_type: "electric_assist",
      max_range_meters: 50_000.5,
    },
    own: { propulsion_type: "electric_assist" },
  });
  await harness.run(
    "vehicle-types",
    "set",
    "cargo",
    "--form-factor",
    "cargo_bicycle",
    "--max-range-meters",
    "40000",
    "--name",
    "Cargo",
  );
  const { stdout } = await harness.run("vehicle-types", "list");
  expect(stdout.split("\n").map((line) => line.split(/ +/)[0])).toEqual([
    "id",
    "cargo",
    "classic",
    "docked_bike",
    "ebike",
    "",
    "The",
    "Set",
    "",
  ]);
  expect(stdout).toContain("vehicle-types set cargo");
  await harness.run("vehicle-types", "set", "classic", "--propulsion-type", "human");
  await expect(harness.run("vehicle-types", "remove", "classic")).rejects.toThrow("bikes refer to classic");
  // `ebike` can be removed because a feed still describes it, and `cargo` because no bike refers to it.
  await harness.run("vehicle-types", "remove", "ebike");
  await harness.run("vehicle-types", "remove", "cargo");
  await expect(harness.run("vehicle-types", "remove", "cargo")).rejects.toThrow("You have set nothing of cargo");
  const { vehicle_types: types } = await json("vehicle-types", "list");
  expect(types).toMatchObject([
    { id: "classic", published: { propulsion_type: "human" } },
    { id: "docked_bike", published: {} },
    { id: "ebike", published: { form_factor: "bicycle", propulsion_type: "electric" } },
  ]);
  const cleared = await json("vehicle-types", "set", "classic", "--max-range-meters", "0", "--propulsion-type", "");
  expect(cleared).toMatchObject({ own: { max_range_meters: 0 } });
  expect(cleared["own"]).not.toHaveProperty("propulsion_type");
  await expect(harness.run("vehicle-types", "set", "classic")).rejects.toThrow(
    "Give at least one of --name, --form-factor",
  );
  await expect(harness.run("vehicle-types", "set", "x", "--propulsion-type", "magic")).rejects.toThrow(
    'propulsion_type cannot be "magic": it must be one of human',
  );
});

test("`regions set` names a region; regions with stations are listed; `remove` needs one without stations", async () => {
  await saidBy(harness.db, "main", {
    feed: "system_regions",
    content: [{ region_id: "n", name: [{ text: "North", language: "en" }] }],
  });
  await harness.db.query({
    name: "",
    text: `insert into stations (system_id, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status,
        updated_at, source, counters)
      values ('main', 's1', 'S', 1, 2, 'west', true, true, true, 'online', now(), 'operator', 'operated')`,
  });
  await harness.run("regions", "set", "n", "--name", "The north");
  await harness.run("regions", "set", "x", "--name", "X");
  expect(await json("regions", "list")).toMatchObject({
    regions: [
      { id: "n", published: { name: [{ text: "The north" }] } },
      { id: "west", published: {} },
      { id: "x", published: { name: [{ text: "X" }] } },
    ],
  });
  await harness.run("regions", "set", "west", "--name", "West");
  await expect(harness.run("regions", "remove", "west")).rejects.toThrow("stations refer to west");
  await harness.run("regions", "remove", "x");
  await harness.run("regions", "remove", "n");
  expect((await harness.run("regions", "list")).stdout).toBe("id    name\nn     North\nwest  West\n");
});

test("a pricing plan is set from options, named by a type, and listed", async () => {
  const options = [
    "--name",
    "Ride",
    "--currency",
    "EUR",
    "--price",
    "1",
    "--is-taxable",
    "true",
    "--description",
    "1 €",
  ];
  await expect(harness.run("pricing-plans", "set", "ride", "--name", "Ride")).rejects.toThrow("currency must be given");
  const steps = ["--per-min-pricing", '[{"start":0,"rate":0.1,"interval":1}]'];
  expect(await json("pricing-plans", "set", "ride", ...options, ...steps)).toMatchObject({
    published: { price: 1, per_min_pricing: [{ start: 0, rate: 0.1, interval: 1 }] },
  });
  await harness.run(
    "vehicle-types",
    "set",
    "classic",
    "--default-pricing-plan-id",
    "ride",
    "--pricing-plan-ids",
    "ride",
  );
  expect((await harness.run("pricing-plans", "list")).stdout).toMatch(/^ride +Ride +1 +EUR +1 €$/m);
  await expect(harness.run("pricing-plans", "remove", "ride")).rejects.toThrow("the vehicle type classic refer");
});

test("`zones import` reads GeoJSON and GBFS's own document, and names what a file lacks", async () => {
  const ring = [
    [10, 59],
    [11, 59],
    [11, 60],
    [10, 59],
  ];
  const rules = [{ ride_start_allowed: true, ride_end_allowed: false, ride_through_allowed: true }];
  const geometry = { type: "MultiPolygon", coordinates: [[ring]] };
  const features = [{ type: "Feature", geometry, properties: { name: "Park", rules } }];
  const file = async (content: unknown) => {
    const path = join(harness.directory, "zones.json");
    await writeFile(path, JSON.stringify(content));
    return path;
  };
  const collection = { type: "FeatureCollection", features };
  await expect(harness.run("zones", "import", await file(collection))).rejects.toThrow("outside its zones");
  await harness.run("zones", "import", await file({ ...collection, global_rules: rules }));
  const drawn = {
    type: "FeatureCollection",
    features: [{ type: "Feature", geometry: { type: "Polygon", coordinates: [ring] }, properties: { stroke: "#f00" } }],
  };
  expect(await json("zones", "import", await file(drawn), "--rule", "no-parking")).toMatchObject({
    published: {
      features: [{ geometry, properties: { rules: [{ ride_end_allowed: false, ride_through_allowed: true }] } }],
      global_rules: [{ ride_end_allowed: true }],
    },
  });
  const document = { version: "3.0", data: { geofencing_zones: collection, global_rules: rules } };
  expect(await json("zones", "import", await file(document))).toMatchObject({ published: { features: [{}] } });
  expect((await harness.run("zones", "show")).stdout).toMatch(/zones +1/);
  await harness.run("zones", "remove");
  expect((await harness.run("zones", "show")).stdout).toMatch(/zones +0/);
});
