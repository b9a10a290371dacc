import { expect, it } from "vitest";
import { viewOf } from "./bike.ts";
import { correctedEndReason, rideLength } from "./ride.ts";
import { counterShifts } from "./station.ts";

it("a ride counts from 60 s on", () => {
  expect(rideLength(0, 59_499)).toEqual({ duration_seconds: 59, is_countable: false });
  expect(rideLength(0, 60_000)).toEqual({ duration_seconds: 60, is_countable: true });
});

it("reasons that say where a ride ended follow its corrected station; others stay", () => {
  const returned = { end_reason: "returned" as const, end_station_id: "a" };
  expect([correctedEndReason(returned, "b"), correctedEndReason(returned, null)]).toEqual([
    "returned",
    "free_floating",
  ]);
  expect(correctedEndReason({ end_reason: "timeout" as const, end_station_id: "a" }, null)).toBe("timeout");
});

it("a bike on a ride has no location; a held one is reserved unless it cannot be ridden", () => {
  const facts = { ride_id: null, reservation_id: null, reported_station_id: "s", reported_lat: 1, reported_lon: 2 };
  const at = { station_id: "s", lat: 1, lon: 2 };
  const nowhere = { station_id: null, lat: null, lon: null };
  const available = { ...facts, reported_state: "available" };
  expect(viewOf(available)).toEqual({ vehicle_state: "available", ...at });
  expect(viewOf({ ...available, ride_id: "r" })).toEqual({ vehicle_state: "on_trip", ...nowhere });
  expect(viewOf({ ...available, reservation_id: "r" })).toEqual({ vehicle_state: "reserved", ...at });
  expect(viewOf({ ...facts, reported_state: "missing", reservation_id: "r" })).toEqual({
    vehicle_state: "missing",
    ...at,
  });
});

it("a bike that is taken away counts at the station it leaves, and at the one it comes to", () => {
  const held = { vehicle_state: "reserved", station_id: "a" };
  expect(counterShifts(held, held)).toEqual([]);
  expect(counterShifts(held, { vehicle_state: "available", station_id: "b" })).toEqual([
    { stationId: "a", available: 0, reserved: -1 },
    { stationId: "b", available: 1, reserved: 0 },
  ]);
});
