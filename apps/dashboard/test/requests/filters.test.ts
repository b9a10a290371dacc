import { expect, it } from "vitest";
import { instantOf, localInput } from "../../src/components/instant-input.ts";
import { isRequestId, readFilters, withFilters } from "../../src/pages/requests/filters.ts";

it("filters are read from the address and written to it; a change begins at the newest request", () => {
  const search = new URLSearchParams("system=oslo&status=4xx&cursor=abc&request=req_1&error=");
  expect(readFilters(search)).toEqual({ status: "4xx" });
  expect(withFilters(search, { status: "", method: "GET" }).toString()).toBe("system=oslo&error=&method=GET");
});

it("times of the address are shown in the reader's zone, and come back unchanged", () => {
  const instant = "2026-03-01T12:30:00.000Z";
  expect(instantOf(localInput(instant))).toBe(instant);
  expect([localInput("tomorrow"), localInput(undefined), instantOf("")]).toEqual(["", "", ""]);
});

it("only a whole Request-Id is looked for", () => {
  expect(["req_06HMX2", "06HMX2", "req_", "req_a b"].map(isRequestId)).toEqual([true, false, false, false]);
});
