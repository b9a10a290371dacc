import { expect, it } from "vitest";
import { createProcessReports } from "../../health/checks/stored-checks.ts";
import { createConditions } from "../../health/conditions/conditions.ts";
import type { ReplicaStatus } from "./replica.ts";
import { createReplicaReport } from "./service.ts";

it("a replica that is left out for 5 s is a line in the log and a concern, with what to do, until it is used again", () => {
  let now = 0;
  const lines: unknown[] = [];
  const write = (detail: object, message: string) => void lines.push([message, Reflect.get(detail, "reason")]);
  const monotonic = () => now;
  const conditions = createConditions({ monotonic, log: { info: write, warn: write, error: write } });
  const reports = createProcessReports();
  const details = () => reports.list().map(({ detail }) => detail);
  const report = createReplicaReport({ conditions, reports, monotonic });
  const letPass = (milliseconds: number, leftOut: ReplicaStatus["leftOut"]) => {
    for (const end = now + milliseconds; now < end; now += 250) report({ leftOut, lagMs: 0 });
  };

  letPass(4_000, { reason: "behind" });
  letPass(1_000, undefined);
  letPass(5_000, { reason: "unreachable", detail: "connect ECONNREFUSED" });
  expect([lines, details()]).toEqual([[], []]);
  letPass(250, { reason: "unreachable", detail: "connect ECONNREFUSED" });
  expect(details()).toEqual([
    "the replica is left out, and the primary answers all reads: it cannot be asked (connect ECONNREFUSED)",
  ]);
  letPass(1_000, { reason: "unrelated" });
  expect(details()).toEqual([expect.stringContaining("rebuild it")]);
  letPass(250, undefined);
  expect(details()).toEqual([]);
  expect(lines).toEqual([
    ["the replica is left out: the primary answers all reads", "it cannot be asked (connect ECONNREFUSED)"],
    ["the replica answers reads again", undefined],
  ]);
});
