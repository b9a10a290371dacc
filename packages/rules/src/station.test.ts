import { describe, expect, test } from "vitest";
import { freeDocks, standsInDock, stationState } from "./station.ts";

const works = { is_installed: true, is_renting: true, is_returning: true, was_installed: true, absent_snapshots: 0 };
const online = { status: "online", offline_reason: null } as const;
const offline = (offline_reason: "flags" | "operator" | "removed_from_source" | "stale") =>
  ({ status: "offline", offline_reason }) as const;

describe("a station's state follows from its flags", () => {
  test.each([
    ["it works", works, online],
    ["it only rents", { ...works, is_returning: false }, online],
    ["it only takes back", { ...works, is_renting: false }, online],
    ["it does neither", { ...works, is_renting: false, is_returning: false }, offline("flags")],
    ["it was taken down", { ...works, is_installed: false }, offline("flags")],
    [
      "it was never there",
      { ...works, is_installed: false, was_installed: false },
      { status: "planned", offline_reason: null },
    ],
    ["it does not report", { ...works, is_silent: true }, offline("stale")],
    ["it neither works nor reports", { ...works, is_installed: false, is_silent: true }, offline("flags")],
    [
      "two snapshots lack it, and it was silent",
      { ...works, absent_snapshots: 2, is_silent: true },
      offline("removed_from_source"),
    ],
    ["one snapshot lacks it", { ...works, absent_snapshots: 1 }, online],
    ["two snapshots in a row lack it", { ...works, absent_snapshots: 2 }, offline("removed_from_source")],
  ] as const)("when %s", (_, signs, state) => {
    expect(stationState(undefined, signs)).toEqual(state);
    expect(stationState(online, signs)).toEqual(state);
    expect(stationState(offline("removed_from_source"), signs)).toEqual(state);
    expect(stationState(offline("stale"), signs)).toEqual(state);
  });

  test("but the operator's word stands", () => {
    expect(stationState(offline("operator"), works)).toEqual(offline("operator"));
    expect(stationState(offline("operator"), { ...works, is_silent: true })).toEqual(offline("operator"));
    expect(stationState({ status: "removed", offline_reason: null }, works)).toEqual({
      status: "removed",
      offline_reason: null,
    });
  });
});

describe("the free docks of a station", () => {
  test.each([
    ["that was never reported are what its capacity leaves", { base: null, capacity: 10, disabled: 2, standing: 3 }, 5],
    ["follow what was reported, whatever its capacity is", { base: 4, capacity: 10, disabled: 2, standing: 3 }, 1],
    ["are never fewer than none", { base: null, capacity: 2, disabled: null, standing: 3 }, 0],
    ["are not known without either", { base: null, capacity: null, disabled: 2, standing: 3 }, null],
  ] as const)("%s", (_, docks, free) => {
    expect(freeDocks(docks)).toBe(free);
  });

  test("are taken by bikes that stand there, and not by those that are away", () => {
    const states = ["available", "reserved", "non_operational", "non_contactable", "on_trip", "missing", "removed"];
    const standing = states.filter((vehicle_state) => standsInDock({ vehicle_state, station_id: "s" }));
    expect(standing).toEqual(states.slice(0, 4));
  });
});
