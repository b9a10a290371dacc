import { expect, it } from "vitest";
import { unzonedText } from "../../src/components/chart-scale.ts";
import { problemOf, keyRequest, OPERATOR } from "../../src/pages/keys/new-key.ts";
import { daySeries, minuteSeries, routeTotals } from "../../src/pages/keys/usage-series.ts";

const now = Date.parse("2026-03-01T12:30:45Z");
const counts = { requests: 10, client_errors: 2, server_errors: 1, rate_limited: 3 };
const none = { requests: 0, client_errors: 0, server_errors: 0, rate_limited: 0 };

it("the last hour has 60 minutes, those without a request too, and each request counts in one series", () => {
  const { times, series } = minuteSeries([{ minute: "2026-03-01T12:29:00Z", ...counts }], now);
  expect([times.length, times[0], times.at(-1)]).toEqual([60, "2026-03-01T11:31:00.000Z", "2026-03-01T12:30:00.000Z"]);
  expect(series.map(({ label, values }) => [label, values[58]])).toEqual([
    ["succeeded", 4],
    ["failed", 3],
    ["refused by the limit", 3],
  ]);
  expect(series.flatMap(({ values }) => values).reduce<number>((sum, value) => sum + (value ?? 0), 0)).toBe(10);
});

it("a day's rows of several routes are one bar, and months of any length are gone through day by day", () => {
  const rows = [
    { day: "2026-02-28", route: "GET /v1/rides", ...counts },
    { day: "2026-02-28", route: "GET /v1/bikes", ...none, requests: 5 },
  ];
  const { times, series } = daySeries(rows, 3, now);
  expect(times.map((time) => time.slice(0, 10))).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  expect(series[0]?.values).toEqual([0, 9, 0]);
  expect(routeTotals(rows).map(({ route, requests }) => [route, requests])).toEqual([
    ["GET /v1/rides", 10],
    ["GET /v1/bikes", 5],
  ]);
});

it("a chart by day shows days, in UTC, and one by minute shows the clock", () => {
  const days = ["2026-02-28T00:00:00.000Z", "2026-03-01T00:00:00.000Z"];
  expect(days.map(unzonedText(days))).toEqual(["28 Feb", "1 Mar"]);
  const minutes = ["2026-02-28T10:00:00.000Z", "2026-02-28T10:01:00.000Z"];
  expect(unzonedText(minutes)(minutes[0] ?? "")).toMatch(/^\d\d:00$/);
});

it("a new key needs an owner, and a partner's a scope; the operator's takes none", () => {
  const key = { owner: "", name: " Planner ", scopes: ["rides:read"] as const, days: "30", rate: "" };
  expect(problemOf(key)).toMatch(/who the key is for/);
  expect(problemOf({ ...key, owner: "partner_1", scopes: [] })).toMatch(/scope/);
  expect(problemOf({ ...key, owner: "partner_1" })).toBeUndefined();
  expect(keyRequest({ ...key, owner: "partner_1" }, now)).toEqual({
    partner_id: "partner_1",
    scopes: ["rides:read"],
    name: "Planner",
    expires_at: "2026-03-31T12:30:45.000Z",
    rate_limit: null,
  });
  expect(keyRequest({ ...key, owner: OPERATOR, rate: "90" }, now)).toMatchObject({
    partner_id: null,
    scopes: [],
    rate_limit: 90,
  });
});
