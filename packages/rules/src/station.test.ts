import { describe, expect, test } from "vitest";
import { stationState } from "./station.ts";

const works = { is_installed: true, is_renting: true, is_returning: true, was_installed: true, absent_snapshots: 0 };
const online = { status: "online", offline_reason: null } as const;
const offline = (offline_reason: "flags" | "operator" | "removed_from_source") =>
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
    ["one snapshot lacks it", { ...works, absent_snapshots: 1 }, online],
    ["two snapshots in a row lack it", { ...works, absent_snapshots: 2 }, offline("removed_from_source")],
  ] as const)("when %s", (_, signs, state) => {
    expect(stationState(undefined, signs)).toEqual(state);
    expect(stationState(online, signs)).toEqual(state);
    expect(stationState(offline("removed_from_source"), signs)).toEqual(state);
  });

  test("but the operator's word stands", () => {
    expect(stationState(offline("operator"), works)).toEqual(offline("operator"));
    expect(stationState({ status: "removed", offline_reason: null }, works)).toEqual({
      status: "removed",
      offline_reason: null,
    });
  });
});
