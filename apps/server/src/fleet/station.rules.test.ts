import { expect, test } from "vitest";
import { isGivenUp, isPlaceholder } from "./station.rules.ts";

const gone = { status: "offline", offline_reason: "removed_from_source" } as const;
const takenOffline = { status: "offline", offline_reason: "operator" } as const;
const online = { status: "online", offline_reason: null } as const;

test("a placeholder is given up, and so is a station that its source left out twice", () => {
  expect([isGivenUp(gone), isGivenUp(takenOffline), isGivenUp(online)]).toEqual([true, false, false]);
  expect([isPlaceholder({ ...gone, absent_snapshots: 0 }), isPlaceholder({ ...gone, absent_snapshots: 2 })]).toEqual([
    true,
    false,
  ]);
});
