import { expect, test } from "vitest";
import { reportText } from "./report.rules.ts";
import type { Agency } from "./service.ts";

test("a disallowed column of a report is empty, and a disallowed group of riders has no rows", () => {
  const leftOut = { reports: ["vehicle_type", "special_group_type.low_income"] };
  const agency = { providerId: "p", leftOut } as unknown as Agency; // what a report reads of one
  const [header, ...rows] = reportText({ month: "2026-10", counts: [], formsInOperation: ["bicycle"] }, agency)
    .trim()
    .split("\n");
  expect(header?.split(",")).toContain("vehicle_type");
  expect(rows).toContain("p,2026-10-01,P1M,all_riders,null,,-1,-1");
  expect(rows.join()).not.toMatch(/low_income|bicycle/);
});
