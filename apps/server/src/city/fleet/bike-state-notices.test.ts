import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { noticesIn, subscribe, tellingsOf } from "../../../test/notices.ts";
import { expireOverdueReservations } from "../../../test/reservations/expire-overdue.ts";
import { statement } from "../../storage/db/statement.ts";
import { applyBikeSnapshot } from "./bike-snapshot.ts";
import { runCommand } from "./command.ts";
import type { VehicleReport } from "./snapshot-decision.rules.ts";

let harness: FleetHarness;
beforeEach(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("A"), stationItem("B"));
  await harness.bikes({ id: "1", station_id: "A" }, { id: "2", station_id: "A" });
});
afterEach(() => harness.close());

const minutes = (n: number) => harness.clock.advance(n * 60_000);
const countIn = async (table: string) =>
  (await harness.db.query<{ n: number }>(statement("", `select count(*) as n from ${table}`)))[0]?.n;

describe("bike.state_changed", () => {
  it("is notices of each state that a bike comes to, from available to reserved, on_trip and back, in the order of commit", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    minutes(1);
    const { id } = await harness.reserve({ bike_id: "1" });
    minutes(1);
    await harness.giveBack(id);
    minutes(1);
    await harness.reserve({ bike_id: "1" }, "p");
    minutes(1);
    await harness.start({ id: "r", bike_id: "1" });
    minutes(5);
    await harness.end({ id: "r", end_station_id: "B" });
    minutes(1);
    await harness.report({ id: "1", at: new Date(harness.clock()).toISOString(), vehicle_state: "non_operational" });
    const notices = await noticesIn(harness);
    expect(notices.map(({ data }) => [data["vehicle_state"], data["station_id"], data["id"]])).toEqual([
      ["reserved", "A", "1"],
      ["available", "A", "1"],
      ["reserved", "A", "1"],
      ["on_trip", null, "1"],
      ["available", "B", "1"],
      ["non_operational", "B", "1"],
    ]);
    expect(notices.every(({ due, status }) => due && status === "pending")).toBe(true);
    expect(notices.map(({ occurred_at }) => occurred_at.toISOString())).toEqual(
      notices.map(({ data }) => data["updated_at"]),
    );
  });

  it("carries the bike as GET shows it after the change", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    await harness.start({ id: "r", bike_id: "2" });
    const [notice] = await noticesIn(harness);
    const { json } = await harness.bike("2");
    expect(notice?.data).toEqual(JSON.parse(String(json)));
  });

  it("is notices when a hold runs out, and when a bike is new; not when something else of a bike changes", async () => {
    await harness.reserve({ bike_id: "1" });
    await subscribe(harness, "p", ["bike.state_changed"]);
    minutes(1);
    await harness.bikes({ id: "3", station_id: "B" });
    await harness.report({
      id: "2",
      at: new Date(harness.clock()).toISOString(),
      lat: 47.1,
      lon: 8.1,
      station_id: "B",
    });
    await harness.bikes({ id: "2", number: "two" });
    minutes(60);
    await expireOverdueReservations(harness.live, harness.systemId, 10);
    expect(await tellingsOf(harness, "id")).toEqual(["3", "1"]);
    expect(await tellingsOf(harness, "vehicle_state")).toEqual(["available", "available"]);
  });

  it("is notices of what a feed says: of bikes that are new, and of states that are", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    const feed = (records: readonly [string, Partial<VehicleReport>][]) =>
      runCommand(harness.live, harness.systemId, (command) =>
        applyBikeSnapshot(command, {
          source: "feed",
          at: harness.clock(),
          records: new Map(records.map(([id, fields]) => [id, { ...someReport, ...fields }])),
          rejected: new Set(),
          stationPositions: new Map(),
        }),
      );
    await feed([
      ["a", {}],
      ["b", { is_disabled: true }],
    ]);
    minutes(1);
    await feed([
      ["a", { is_reserved: true }],
      ["b", { is_disabled: true, current_range_meters: 5 }],
    ]);
    minutes(1);
    await feed([["b", {}]]);
    const notices = (await noticesIn(harness)).map(
      ({ data }) => `${String(data["id"])} ${String(data["vehicle_state"])}`,
    );
    expect(notices.slice(0, 2).sort()).toEqual(["a available", "b non_operational"]);
    expect(notices.slice(2)).toEqual(["a reserved", "b available"]);
  });

  it("leaves no row, and no message, where nobody wants it", async () => {
    await subscribe(harness, "p", ["ride.completed"]);
    await harness.reserve({ bike_id: "1" }, "p");
    await harness.bikes({ id: "3", station_id: "B" });
    await harness.report({ id: "2", at: new Date(harness.clock()).toISOString(), vehicle_state: "missing" });
    for (const table of ["webhook_bodies", "webhook_deliveries", "webhook_queue"]) expect(await countIn(table)).toBe(0);
  });

  it("goes to every endpoint that wants it, said once; a paused one's is held", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    await subscribe(harness, "q", ["bike.state_changed"], "paused");
    await subscribe(harness, "r", ["station.updated"]);
    await harness.reserve({ bike_id: "1" }, "p");
    const notices = await noticesIn(harness);
    expect(new Map(notices.map(({ partner, ...notice }) => [partner, notice]))).toEqual(
      new Map([
        ["p", expect.objectContaining({ status: "pending", due: true })],
        ["q", expect.objectContaining({ status: "held", due: false })],
      ]),
    );
    expect(await countIn("webhook_bodies")).toBe(1);
  });

  it("is never among the events of the list", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    await harness.start({ id: "r", bike_id: "1" });
    expect(await harness.events()).toEqual(["ride.started r"]);
  });

  it("is not notices of a change that did not come to be", async () => {
    await subscribe(harness, "p", ["bike.state_changed"]);
    const undone = new Error("undone");
    const tried = runCommand(harness.live, harness.systemId, async (command) => {
      await applyBikeSnapshot(command, {
        source: "feed",
        at: harness.clock(),
        records: new Map([["a", someReport]]),
        rejected: new Set(),
        stationPositions: new Map(),
      });
      throw undone;
    });
    await expect(tried).rejects.toBe(undone);
    expect(await noticesIn(harness)).toEqual([]);
  });
});

const someReport: VehicleReport = {
  number: null,
  vehicle_type_id: null,
  is_reserved: false,
  is_disabled: false,
  station_id: null,
  position: { lat: 47.3, lon: 8.5 },
  current_range_meters: null,
  source_facts: null,
  last_reported: null,
};
