import { expect, test } from "vitest";
import { absentSnapshots, advance, isGivenUp, isPlaceholder } from "./station.rules.ts";

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

test("the two newest snapshots of a feed are the same whatever order they came in", () => {
  const after = (...instants: number[]) => instants.reduce<ReturnType<typeof advance> | undefined>(advance, undefined);
  for (const order of [
    [1, 2, 3],
    [3, 2, 1],
    [2, 3, 1],
    [1, 3, 2, 3, 2],
    [3, 1, 2, 1],
  ]) {
    expect(after(...order)).toEqual({ latest: 3, before: 2 });
  }
  expect(after(1, 1)).toEqual({ latest: 1, before: undefined });
});

test("absence is counted in snapshots since the one that named the station", () => {
  const times = { latest: 30, before: 20 };
  expect([30, 25, 20, 19].map((asOf) => absentSnapshots(asOf, times))).toEqual([0, 1, 1, 2]);
  expect(absentSnapshots(5, { latest: 30, before: undefined })).toBe(1);
});
