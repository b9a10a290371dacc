import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerBikes, registerStations } from "./fleet.ts";

let harness: CliHarness;

beforeAll(async () => {
  harness = await openCliHarness({
    clock: createTestClock(),
    register: (program, context) => {
      registerStations(program, context);
      registerBikes(program, context);
    },
  });
  await harness.db.query({
    name: "",
    text: `insert into stations (system_id, id, name, lat, lon, region_id, is_installed, is_renting, is_returning, status,
        offline_reason, updated_at, source, counters)
      select 'main', 's' || lpad(n::text, 3, '0'), 'Station ' || n || e'\\u001b[2J', 1, 2, 'north', true, true, true,
        case when n % 2 = 0 then 'offline' else 'online' end, case when n % 2 = 0 then 'operator' end, now(), 'operator', 'operated'
      from generate_series(1, 250) as n`,
  });
  await harness.db.query({
    name: "",
    text: `insert into bikes (system_id, id, vehicle_state, station_id, updated_at, source)
      values ('main', 'b1', 'available', 's001', now(), 'operator'), ('main', 'b2', 'missing', null, now(), 'operator')`,
  });
  await harness.db.query({
    name: "",
    text: "insert into list_counts (system_id, list, slot, n) values ('main', 'stations', 0, 250), ('main', 'bikes', 0, 2)",
  });
});
afterAll(() => harness.close());

const json = async (...args: string[]) =>
  JSON.parse((await harness.run("--json", ...args)).stdout) as {
    readonly total: number;
    readonly stations: readonly { readonly id: string; readonly status: string }[];
    readonly bikes: readonly { readonly id: string }[];
  };

test("`stations list` shows the first 50, says how many there are, and no control characters", async () => {
  const { stdout } = await harness.run("stations", "list");
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(53);
  expect(lines[1]).toMatch(/^s001 +Station 1\ufffd\[2J +online +north +0 +0 +- +-$/);
  expect(lines[2]).toContain("offline (operator)");
  expect(lines.at(-1)).toBe("50 of 250. --limit shows more rows, --json all fields.");
  expect(stdout).not.toContain("\u001b");
});

test("`stations list` walks as far as --limit says, through any filter", async () => {
  const all = await json("stations", "list", "--limit", "1000");
  expect([all.total, all.stations.length, new Set(all.stations.map(({ id }) => id)).size]).toEqual([250, 250, 250]);
  const offline = await json("stations", "list", "--status", "offline", "--region", "north", "--limit", "120");
  expect([offline.total, offline.stations.length]).toEqual([125, 120]);
  expect(new Set(offline.stations.map(({ status }) => status))).toEqual(new Set(["offline"]));
});

test("`bikes list` shows bikes, in a state or at a station", async () => {
  expect((await harness.run("bikes", "list")).stdout).toMatch(
    /^id .*\nb1 +- +- +available +s001.*\nb2 +- +- +missing +-.*\n$/,
  );
  expect((await json("bikes", "list", "--state", "missing")).bikes.map(({ id }) => id)).toEqual(["b2"]);
  expect((await json("bikes", "list", "--station", "s001")).bikes.map(({ id }) => id)).toEqual(["b1"]);
});

test.each([
  [["stations", "list", "--status", "lost"], "--status"],
  [["stations", "list", "--limit", "0"], "--limit"],
  [["bikes", "list", "--state", "flying"], "--state"],
])("%j is rejected", async (args, option) => {
  await expect(harness.run(...args)).rejects.toThrow(option);
});
