import { afterEach, beforeEach, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { city23, CITY_TIME } from "../../test/gbfs/city.ts";
import { type FeedServer, startFeedServer } from "../../test/gbfs/feed-server.ts";
import { until } from "../../test/until.ts";
import { registerSyncGbfs } from "./gbfs.ts";

let harness: CliHarness;
let server: FeedServer;
beforeEach(async () => {
  harness = await openCliHarness({ register: registerSyncGbfs, clock: () => CITY_TIME + 86_400_000 });
  server = await startFeedServer(city23());
});
afterEach(async () => {
  harness.stop();
  await server.close();
  await harness.close();
});

const lines = () => harness.written.stdout.split("\n").filter((line) => line !== "");

test("prints a line per round, JSON with --json, and ends when it is stopped", async () => {
  const running = harness.run("gbfs", server.url, "--every", "1s", "--json");
  await until(() => lines().length >= 2);
  harness.stop();
  await running;
  const [first, second] = lines().map((line) => JSON.parse(line) as object);
  const none = { updated: 0, unchanged: 0, removed: 0, rejected: 0 };
  expect(first).toEqual({
    at: "2025-06-02T12:00:00.000Z",
    outcome: "applied",
    stations: { ...none, created: 2 },
    bikes: { ...none, created: 3 },
    events: {},
    failures: [],
    ages: { free_bike_status: 0, gbfs: 0, station_information: 0, station_status: 0 },
    data_ages: { free_bike_status: 86_400, station_status: 86_400 },
    stale: ["free_bike_status", "station_status"].map((feed) => ({
      ...{ feed, message: "its data are of 2025-06-01 12:00 UTC (last_updated)" },
    })),
    older: [],
    report: null,
  });
  expect(second).toMatchObject({ outcome: "unchanged", stations: null, bikes: null });
});

test("for people prints the same as text, and what failed", async () => {
  server.pages["station_status"] = undefined;
  const running = harness.run("gbfs", server.url);
  await until(() => lines().length >= 1);
  harness.stop();
  await running;
  expect(lines()[0]).toMatch(
    /^2025-06-02T12:00:00.000Z partial: stations none; bikes 3 created; free_bike_status is stale: its data are of 2025-06-01 12:00 UTC \(last_updated\); station_status failed: HTTP 404 from .* no success yet, next request at /,
  );
});

test.each([
  [["gbfs", "feeds.example.com"], "http or https URL"],
  [["gbfs", "http://127.0.0.1:1/gbfs.json", "--every", "0s"], "from 1s to 1d"],
  [["gbfs", "http://127.0.0.1:1/gbfs.json", "--every", "soon"], "must be a duration"],
])("rejects %s as wrong usage", async (args, message) => {
  await expect(harness.run(...args)).rejects.toThrow(message);
});
