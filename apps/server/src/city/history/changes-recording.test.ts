import { afterAll, beforeAll, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { readByType, readFlags } from "./changes-state.rules.ts";

let harness: FleetHarness;
beforeAll(async () => void (harness = await openFleetHarness()));
afterAll(() => harness.close());

const changes = statement(
  "test.changes",
  "select * from station_changes where system_id = $1 and station_id = $2 order by at",
);

interface Change {
  readonly at: Date;
  readonly changed_on: string;
  readonly bikes: number;
  readonly reserved: number;
  readonly docks: number | null;
  readonly flags: number;
  readonly by_type: string;
}
const changesOf = (id: string) => harness.db.query<Change>(changes, [harness.systemId, id]);
const shown = (rows: readonly Change[]) =>
  rows.map(({ at, bikes, reserved, docks, flags }) => [
    at.toISOString().slice(0, 19),
    `${bikes}+${reserved}`,
    docks,
    readFlags(flags).status,
  ]);
const on = (instant: string) => harness.clock.advance(Date.parse(instant) - harness.clock());

test("each change of a station's counters or status is recorded once, when it was made, and others are not", async () => {
  on("2026-06-10T08:00:00Z");
  await harness.stations(stationItem("A", { capacity: 5 }));
  await harness.bikes({ id: "1", station_id: "A", vehicle_type_id: "ebike" }, { id: "2", station_id: "A" });
  on("2026-06-10T09:00:00Z");
  const { id } = await harness.reserve({ bike_id: "1" });
  on("2026-06-10T09:01:00Z");
  await harness.stations(stationItem("A", { capacity: 5, name: "Harbour" }));
  await harness.start({ id: "r1", bike_id: "2" });
  on("2026-06-10T09:02:00Z");
  await harness.giveBack(id);
  on("2026-06-10T09:03:00Z");
  await harness.offline({ id: "A" });
  on("2026-06-10T09:04:00Z");
  await harness.end({ id: "r1", end_station_id: "A" });
  expect(shown(await changesOf("A"))).toEqual([
    ["2026-06-10T08:00:00", "2+0", 3, "online"],
    ["2026-06-10T09:00:00", "1+1", 3, "online"],
    ["2026-06-10T09:01:00", "0+1", 4, "online"],
    ["2026-06-10T09:02:00", "1+0", 4, "online"],
    ["2026-06-10T09:03:00", "1+0", 4, "offline"],
    ["2026-06-10T09:04:00", "2+0", 3, "offline"],
  ]);
  const last = (await changesOf("A")).at(-1);
  expect(readByType(last?.by_type ?? "")).toEqual([{ vehicle_type_id: "ebike", count: 1 }]);
  expect(readFlags(last?.flags ?? 0).offline_reason).toBe("operator");
  await harness.expectSound();
});

test("the first change in a month records how the station was at the beginning of each month since the one before", async () => {
  on("2026-09-02T10:00:00Z");
  await harness.start({ id: "r2", bike_id: "2" });
  expect(shown((await changesOf("A")).slice(-4))).toEqual([
    ["2026-07-01T00:00:00", "2+0", 3, "offline"],
    ["2026-08-01T00:00:00", "2+0", 3, "offline"],
    ["2026-09-01T00:00:00", "2+0", 3, "offline"],
    ["2026-09-02T10:00:00", "1+0", 4, "offline"],
  ]);
});

test("a station that was there before its history began has it from then on, with how it was", async () => {
  on("2026-09-03T10:00:00Z");
  await harness.stations(stationItem("B"));
  await harness.db.query(
    statement(
      "test.before",
      `with gone as (delete from station_changes where system_id = $1 and station_id = 'B')
       update stations set state_since = '-infinity', known_since = $2 where system_id = $1 and id = 'B'`,
    ),
    [harness.systemId, new Date("2026-08-20T00:00:00Z")],
  );
  await harness.bikes({ id: "3", station_id: "B" });
  expect(shown(await changesOf("B"))).toEqual([
    ["2026-08-20T00:00:00", "0+0", null, "online"],
    ["2026-09-01T00:00:00", "0+0", null, "online"],
    ["2026-09-03T10:00:00", "1+0", null, "online"],
  ]);
});

test("a clock that is set back puts no change before the newest one: the state of an instant is the last one made", async () => {
  harness.clock.advance(-60_000);
  await harness.bikes({ id: "4", station_id: "B" });
  await harness.bikes({ id: "5", station_id: "B" });
  expect(shown(await changesOf("B")).slice(2)).toEqual([["2026-09-03T10:00:00", "3+0", null, "online"]]);
  await harness.expectSound();
});

test("types of vehicles are recorded whatever their names are", async () => {
  harness.clock.advance(120_000);
  const names = ['a"},{"vehicle_type_id":', '"count":1}]', 'b\\","count":2', "ü,1", "]"];
  await harness.bikes(...names.map((name, n) => ({ id: `t${n}`, station_id: "B", vehicle_type_id: name })));
  const [station] = await harness.db.query<{ vehicle_types_available: unknown }>(
    statement("test.types", "select vehicle_types_available from stations where system_id = $1 and id = 'B'"),
    [harness.systemId],
  );
  const last = (await changesOf("B")).at(-1);
  expect(readByType(last?.by_type ?? "")).toEqual(station?.vehicle_types_available);
});
