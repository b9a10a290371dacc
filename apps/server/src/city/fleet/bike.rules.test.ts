import { expect, test } from "vitest";
import { bikeFromReport, followsFeed, vehicleState } from "./snapshot-decision.rules.ts";

test("GBFS's two flags become one MDS state, out of order before held", () => {
  const state = (is_disabled: boolean, is_reserved: boolean) => vehicleState({ is_disabled, is_reserved });
  expect([state(false, false), state(false, true), state(true, false), state(true, true)]).toEqual([
    "available",
    "reserved",
    "non_operational",
    "non_operational",
  ]);
});

test("a bike on a trip of ours, or removed by the operator, does not follow the feed", () => {
  expect([followsFeed("on_trip"), followsFeed("removed"), followsFeed("available"), followsFeed("missing")]).toEqual([
    false,
    false,
    true,
    true,
  ]);
});

test("a bike at a station without a place of its own has the station's place", () => {
  const report = {
    number: null,
    vehicle_type_id: null,
    is_reserved: false,
    is_disabled: false,
    station_id: "s",
    position: undefined,
    current_range_meters: null,
    source_facts: null,
    last_reported: null,
  };
  expect(bikeFromReport(report, { lat: 1, lon: 2 })).toMatchObject({ station_id: "s", lat: 1, lon: 2 });
  expect(bikeFromReport({ ...report, position: { lat: 3, lon: 4 } }, { lat: 1, lon: 2 })).toMatchObject({
    lat: 3,
    lon: 4,
  });
  expect(bikeFromReport(report, undefined)).toMatchObject({ lat: null, lon: null });
});
