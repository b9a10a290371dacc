import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { saidBy } from "../../test/gbfs/said-by.ts";
import { warnOfMissingFacts } from "../city/systems/service.ts";
import { listActs } from "../partners/audit/queries.ts";
import { registerRegions } from "./regions.ts";
import { registerSystems } from "./systems.ts";
import { registerVehicleTypes } from "./vehicle-types.ts";

let harness: CliHarness;
const clock = createTestClock();

beforeAll(async () => {
  harness = await openCliHarness({
    clock,
    register: (program, context) => {
      registerSystems(program, context);
      registerVehicleTypes(program, context);
      registerRegions(program, context);
    },
  });
});
afterAll(() => harness.close());

const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", ...args)).stdout) as Record<string, never>;

test("`systems list` and the log name the missing facts of a system, with the command that sets them", async () => {
  await harness.run("systems", "set", "--name", "");
  expect(await json("systems", "list")).toMatchObject({
    systems: [{ id: "main", time_zone: "UTC", email: null, missing: ["name", "time-zone", "language", "email"] }],
  });
  const { stdout } = await harness.run("systems", "list");
  expect(stdout).toContain("systems set --name … --time-zone … --language … --email …");
  const warned: object[] = [];
  await warnOfMissingFacts(harness.db, { warn: (fields) => warned.push(fields) });
  expect(warned).toEqual([{ system: "main", missing: ["name", "timezone", "language", "feed_contact_email"] }]);
});

test("`systems set` takes precedence over feeds, and an empty value removes a fact", async () => {
  await saidBy(harness.db, "main", {
    feed: "system_information",
    content: { name: [{ text: "Feed", language: "de" }], language: "de", timezone: "Europe/Berlin" },
  });
  const facts = ["--time-zone", "europe/oslo", "--email", "feeds@bikes.example", "--licence", "cc-by-4.0"];
  expect(await json("systems", "set", ...facts, "--operator", "City Bikes", "--url", "https://bikes.example")).toEqual({
    id: "main",
    name: "Feed",
    language: "de",
    time_zone: "Europe/Oslo",
    email: "feeds@bikes.example",
    licence: "CC-BY-4.0",
    operator: "City Bikes",
    url: "https://bikes.example/",
    opening_hours: "24/7",
    missing: [],
  });
  expect(await json("systems", "set", "--time-zone", "", "--name", "Bysykkel")).toMatchObject({
    name: "Bysykkel",
    time_zone: "Europe/Berlin",
    email: "feeds@bikes.example",
  });
  expect(await listActs(harness.db, "main", { limit: 2 })).toMatchObject([
    { action: "system.described", actor: "cli:test", detail: { name: "Bysykkel", timezone: null } },
    { action: "system.described", detail: { licence: "CC-BY-4.0" } },
  ]);
});

test.each([
  [["--time-zone", "EST"], /--time-zone is "EST": it must be an IANA time zone/],
  [["--email", "nobody"], /--email is "nobody": it must be a mail address/],
  [["--language", "english"], /--language .* BCP 47/],
  [["--licence", "mine"], /--licence .* SPDX/],
  [["--url", "bikes.example"], /--url .* https/],
  [[], /Give at least one of --name, --time-zone/],
])("`systems set %j` is rejected with what is allowed", async (options, message) => {
  await expect(harness.run("systems", "set", ...options)).rejects.toThrow(message);
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
  expect(await json("vehicle-types", "set", "ebike", "--propulsion", "electric_assist")).toEqual({
    id: "ebike",
    name: "E",
    form_factor: "bicycle",
    propulsion_type: "electric_assist",
    max_range_meters: 50_000.5,
  });
  await harness.run(
    "vehicle-types",
    "set",
    "cargo",
    "--form-factor",
    "cargo_bicycle",
    "--range",
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
  await harness.run("vehicle-types", "set", "classic", "--propulsion", "human");
  await expect(harness.run("vehicle-types", "remove", "classic")).rejects.toThrow(
    "bikes name the vehicle type classic",
  );
  // A feed goes on to describe it; nothing is named `cargo`.
  await harness.run("vehicle-types", "remove", "ebike");
  await harness.run("vehicle-types", "remove", "cargo");
  await expect(harness.run("vehicle-types", "remove", "cargo")).rejects.toThrow(
    "has no description of yours to remove",
  );
  const { vehicle_types: types } = await json("vehicle-types", "list");
  expect(types).toEqual([
    { id: "classic", name: null, form_factor: null, propulsion_type: "human", max_range_meters: null },
    { id: "docked_bike", name: null, form_factor: null, propulsion_type: null, max_range_meters: null },
    { id: "ebike", name: "E", form_factor: "bicycle", propulsion_type: "electric", max_range_meters: 50_000.5 },
  ]);
  expect(await json("vehicle-types", "set", "classic", "--range", "0", "--propulsion", "")).toMatchObject({
    max_range_meters: 0,
    propulsion_type: null,
  });
  await expect(harness.run("vehicle-types", "set", "classic")).rejects.toThrow(
    "Give at least one of --name, --form-factor",
  );
  await expect(harness.run("vehicle-types", "set", "x", "--propulsion", "magic")).rejects.toThrow(
    '--propulsion is "magic": it must be one of human',
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
  expect(await json("regions", "list")).toEqual({
    regions: [
      { id: "n", name: "The north" },
      { id: "west", name: "west" },
      { id: "x", name: "X" },
    ],
  });
  await harness.run("regions", "set", "west", "--name", "West");
  await expect(harness.run("regions", "remove", "west")).rejects.toThrow("Stations are in the region west");
  await harness.run("regions", "remove", "x");
  await harness.run("regions", "remove", "n");
  expect((await harness.run("regions", "list")).stdout).toBe("id    name\nn     North\nwest  West\n");
  await expect(harness.run("regions", "set", "west", "--name", "two\nlines")).rejects.toThrow(
    '--name is "two\\nlines": it must be one line',
  );
});
