import { afterAll, beforeAll, expect, it } from "vitest";
import { createMetrics } from "../src/health/metrics/registry.ts";
import { createActivityTracker } from "../src/health/tracing/activity.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";

let app: TestApp;
let service: BuiltApp;
const metrics = createMetrics({ version: "1" });

beforeAll(async () => {
  app = await startTestApp();
  const activities = createActivityTracker();
  activities.countWaits(metrics.http.connectionWaited);
  const db = openDatabase({ connectionString: app.db.connectionString, observer: activities, name: "general" });
  // A threshold so low that every request is logged as slow.
  const measured = { metrics: metrics.http, activities, slowRequestMs: 1e-6 };
  service = await buildAnother({ ...app, db }, measured, ({ http }) => void http.addHook("onClose", () => db.close()));
});
afterAll(async () => {
  await service.close();
  await app.close();
});

/** Returns the value of a counter; NaN if the series does not exist yet. */
const counted = async (series: string) => {
  const line = (await metrics.text()).split("\n").find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
};
const requests = (labels: string) => counted(`bikeshare_http_requests_total{${labels}}`);

it("counts requests by endpoint, never by path, and leads from a bucket to the log line of a request", async () => {
  const { key } = await app.issue({ rateLimit: 10 });
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${service.url}/v1/rides?limit=5`, { headers });
  await answer.text();
  for (const path of ["/v1/rides/ride_1", "/v1/rides/ride_2"]) await fetch(service.url + path, { headers });
  for (const path of ["/v1/nothing-1", "/wp-login.php"]) await fetch(service.url + path);
  await fetch(`${service.url}/v1/stations`, { method: "HEAD" });

  await expect.poll(() => requests('interface="partner",route="rides.list",method="GET",status="200"')).toBe(1);
  await expect.poll(() => requests('interface="partner",route="rides.get",method="GET",status="404"')).toBe(2);
  await expect.poll(() => requests('interface="partner",route="stations.list",method="HEAD",status="401"')).toBe(1);
  await expect.poll(() => requests('interface="none",route="none",method="any",status="404"')).toBe(1);
  const text = await metrics.text();
  expect(text).not.toMatch(/ride_1|nothing-1|wp-login/);
  expect(await counted('bikeshare_http_rate_limit_used_ratio_bucket{le="0.1"}')).toBe(1);
  expect(await counted("bikeshare_http_rate_limit_used_ratio_count")).toBe(3);
  expect(await counted("bikeshare_http_sent_bytes_total")).toBeGreaterThan(500);
  expect(await counted("bikeshare_http_received_bytes_total")).toBeGreaterThan(500);
  expect(await counted('bikeshare_database_wait_seconds_count{pool="vital"}')).toBeGreaterThan(0);

  const openMetrics = await metrics.text("openmetrics");
  const bucket =
    /^bikeshare_http_request_duration_seconds_bucket{interface="partner",route="rides.list",le="[^"]+"} 1 # {request_id="(\w+)"} [\d.]+ [\d.]+$/m;
  const [, requestId] = bucket.exec(openMetrics) ?? [];
  expect(requestId).toBe(answer.headers.get("request-id"));
  const [line, ...others] = service.logged.filter((each) => each["requestId"] === requestId);
  expect(others).toEqual([]);
  const route = { interface: "partner", route: "rides.list", method: "GET", status: 200 };
  expect(line).toMatchObject({ msg: "slow request", ...route });
  const spent = ["ms", "database_ms", "connection_wait_ms", "other_ms"].map((name) => Number(line?.[name]));
  for (const ms of spent) expect(ms).toBeGreaterThanOrEqual(0);
  // At least two statements: the one that finds the key, and the one that reads the page.
  expect(Number(line?.["statements"])).toBeGreaterThanOrEqual(2);
  expect(openMetrics.endsWith("# EOF\n")).toBe(true);
  expect(openMetrics).toContain("# TYPE bikeshare_http_requests counter\n");
});
