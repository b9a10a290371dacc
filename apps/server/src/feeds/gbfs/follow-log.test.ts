import { expect, test } from "vitest";
import { logRounds } from "./follow-log.ts";
import type { FollowRound } from "./follow.ts";

const round: FollowRound = { at: "", outcome: "applied", stations: null, bikes: null, events: {}, failures: [] };
const failures = [{ feed: "station_status", message: "HTTP 500" }];

test.each([
  ["info", round],
  ["debug", { ...round, outcome: "unchanged" as const }],
  ["warn", { ...round, outcome: "failed" as const, failures }],
  ["warn", { ...round, failures }],
])("is a line of level %s", (level, logged) => {
  const levels: string[] = [];
  const note = (name: string) => () => void levels.push(name);
  logRounds({ debug: note("debug"), info: note("info"), warn: note("warn") })(logged);
  expect(levels).toEqual([level]);
});
