import { afterEach, beforeEach, expect, it } from "vitest";
import { type FleetHarness, openFleetHarness, stationItem } from "../../../test/fleet/fleet.harness.ts";
import { statement } from "../../storage/db/statement.ts";
import { checkInvariants } from "./service.ts";

let harness: FleetHarness;
beforeEach(async () => {
  harness = await openFleetHarness();
  await harness.stations(stationItem("1"));
  await harness.bikes({ id: "bike-1", station_id: "1" }, { id: "bike-2", station_id: "1" });
  await harness.start({ id: "ride-1", bike_id: "bike-1" }, { id: "ride-2", bike_id: "bike-2" });
});
afterEach(() => harness.close());

/** Overwrites the data of a ride's event. */
async function damage(rideId: string, data: string): Promise<string> {
  const text = "update event_outbox set data = $3 where system_id = $1 and data like $2 returning id";
  const values = [harness.systemId, `{"id":"${rideId}"%`, data];
  const rows = await harness.db.query<{ id: string }>(statement("", text), values);
  expect(rows).toHaveLength(1);
  return rows[0]?.id ?? "";
}

/** Returns the broken invariants with their examples. */
async function broken(): Promise<[name: string, examples: readonly string[]][]> {
  const checks = await checkInvariants(harness.db, harness.systemId);
  return checks.filter((check) => check.broken > 0).map(({ name, examples }) => [name, examples]);
}

it("an event whose data was lost is named, and so is the ride that has no other", async () => {
  expect(await broken()).toEqual([]);
  const id = await damage("ride-1", '{"id":"ride-1","bike_');
  expect(await broken()).toEqual([
    ["event_data", [id]],
    ["ride_started_event", ["ride-1"]],
  ]);
});

it("data that cannot be read fail the checks that read them, and no other", async () => {
  await damage("ride-1", '{"id":"ride-1","bike_id":}');
  const found = await broken();
  expect(found.map(([name]) => name)).toEqual(["ride_events_once", "ride_started_event", "ride_ended_event"]);
  for (const [, examples] of found)
    expect(examples).toEqual(["a value cannot be read: invalid input syntax for type json"]);
});
