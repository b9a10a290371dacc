import { afterAll, beforeAll, expect, test } from "vitest";
import { type FleetHarness, openFleetHarness, outcomes, stationItem } from "../../../test/fleet/fleet.harness.ts";
import type { ActorContext } from "../../command-context.ts";
import { systemCheckFinders } from "../../health/checks/system-checks.ts";
import { listActs } from "../../partners/audit/queries.ts";
import { createSystem } from "../systems/service.ts";
import { allLongRides, endAbandonedRides, endRidesStartedBefore } from "./finish-rides.ts";

const HOUR_MS = 3_600_000;
let harness: FleetHarness;
let context: ActorContext;

beforeAll(async () => {
  harness = await openFleetHarness();
  context = { ...harness.live, actor: "cli:test" };
  await harness.stations(stationItem("A"));
  await harness.bikes(...["lost", "seen", "broken", "young"].map((id) => ({ id, station_id: "A" })));
  harness.clock.advance(60_000);
  for (const id of ["lost", "seen", "broken"]) await harness.start({ id: `ride-${id}`, bike_id: id });
  harness.clock.advance(23 * HOUR_MS);
  await harness.report({ id: "seen", at: new Date(harness.clock()).toISOString(), station_id: "A" });
  await harness.report({
    id: "broken",
    at: new Date(harness.clock()).toISOString(),
    ...{ vehicle_state: "non_operational", lat: 1, lon: 2 },
  });
  await harness.start({ id: "ride-young", bike_id: "young" });
  harness.clock.advance(2 * HOUR_MS);
});
afterAll(() => harness.close());

const dayAgo = () => new Date(harness.clock() - 24 * HOUR_MS);
const find = () => systemCheckFinders["long rides"]({ ...harness, longRideAfterMs: 24 * HOUR_MS }, harness.systemId);

test("rides under way for longer than a day are found, and those alone", async () => {
  expect(await allLongRides(harness.db, dayAgo())).toMatchObject([{ systemId: harness.systemId, n: 3 }]);
  const [finding] = await find();
  expect(finding).toMatchObject({ check: "long rides", status: "warning" });
  expect(finding?.detail).toContain(
    "3 rides of main are under way for longer than 24 h, the oldest (ride-broken) since",
  );
  expect(finding?.detail).toMatch(/ since \d{4}-\d\d-\d\d \d\d:\d\d UTC: their bikes are hidden$/);
  expect(finding?.fix).toContain("`bikeshare rides end --older-than 24h --yes` all of them.");
});

test("an abandoned ride ends once, audited; its bike is where it was seen since, and missing where it was not", async () => {
  expect(outcomes(await endAbandonedRides(context, harness.systemId, ["ride-seen", "unknown"], "operator"))).toEqual([
    "updated",
    "not_found",
  ]);
  expect(outcomes(await endAbandonedRides(context, harness.systemId, ["ride-seen"], "operator"))).toEqual([
    "ride_conflict",
  ]);
  expect(await harness.ride("ride-seen")).toMatchObject({
    status: "completed",
    end_reason: "operator",
    end_station_id: "A",
    ended_at: new Date(harness.clock()),
  });
  expect(await harness.bike("seen")).toMatchObject({ vehicle_state: "available", station_id: "A" });

  expect(outcomes(await endRidesStartedBefore(context, harness.systemId, dayAgo()))).toEqual(["updated", "updated"]);
  expect(await harness.ride("ride-lost")).toMatchObject({ end_reason: "timeout", end_station_id: null });
  expect(await harness.bike("lost")).toMatchObject({ vehicle_state: "missing", station_id: null, lat: null });
  expect(await harness.bike("broken")).toMatchObject({ vehicle_state: "non_operational", lat: 1, lon: 2 });
  expect((await harness.ride("ride-young"))["status"]).toBe("started");
  expect((await harness.events()).filter((event) => event.startsWith("ride.completed"))).toHaveLength(3);
  const acts = await listActs(harness.db, harness.systemId, { limit: 10 });
  expect(
    acts
      .filter(({ action }) => action === "ride.ended")
      .map(({ subject }) => subject)
      .sort(),
  ).toEqual(["ride-broken", "ride-lost", "ride-seen"]);
  expect(await find()).toMatchObject([{ status: "ok" }]);
  // The bike that was missing reports itself.
  await harness.report({ id: "lost", at: new Date(harness.clock() + 1).toISOString(), station_id: "A" });
  await harness.expectSound();
});

test("an end that is reported at once with the operator's leaves one end", async () => {
  await harness.bikes({ id: "raced", station_id: "A" });
  await harness.start({ id: "ride-raced", bike_id: "raced" });
  const [ended, abandoned] = await Promise.all([
    harness.end({ id: "ride-raced", end_station_id: "A" }),
    endAbandonedRides(context, harness.systemId, ["ride-raced"], "operator"),
  ]);
  expect([...outcomes(ended), ...outcomes(abandoned)].sort()).toEqual(["ride_conflict", "updated"]);
  await harness.expectSound();
});

test("where there are several systems, what ends a long ride names its system", async () => {
  await createSystem(harness.db, "second", "Second", harness.clock());
  await harness.bikes({ id: "forgotten", station_id: "A" });
  await harness.start({ id: "ride-forgotten", bike_id: "forgotten" });
  harness.clock.advance(25 * HOUR_MS);
  const [finding] = await find();
  expect(finding?.fix).toContain(`\`bikeshare --system ${harness.systemId} rides end <id>\` ends one`);
  await endAbandonedRides(context, harness.systemId, ["ride-forgotten"], "operator");
});
