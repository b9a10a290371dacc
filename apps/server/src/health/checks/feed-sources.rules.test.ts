import { expect, test } from "vitest";
import { checkSource, feedAdvice, sourceCondition, type SourceFacts } from "./feed-sources.rules.ts";

const NOW = Date.UTC(2026, 0, 10);
const ago = (minutes: number) => new Date(NOW - minutes * 60_000);
const feed = {
  feed: "station_status",
  succeeded_at: ago(0),
  failing_since: null,
  message: null,
  data_at: ago(1),
  content_since: ago(1),
  stale_after_seconds: 3_600,
};
const well: SourceFacts = {
  source: "gbfs",
  location: "https://feeds.example/gbfs.json",
  interval_ms: 30_000,
  polled_at: ago(0),
  failing_since: null,
  message: null,
  information_at: ago(600),
  status_at: ago(1),
  vehicles_at: null,
  feeds: [feed],
};
const broken = (minutes: number, message = "HTTP 503 from https://feeds.example/s.json") => ({
  ...feed,
  succeeded_at: ago(minutes),
  failing_since: ago(minutes),
  message,
});

test.each<[SourceFacts, string, string | null]>([
  [well, "well", null],
  [{ ...well, polled_at: null, interval_ms: null, location: null }, "not_followed", null],
  [{ ...well, polled_at: ago(8 * 1440) }, "not_followed", null],
  [{ ...well, polled_at: ago(21) }, "silent", "failure"],
  // A source that is polled every two hours may be silent for six.
  [{ ...well, polled_at: ago(300), interval_ms: 7_200_000 }, "well", null],
  [{ ...well, failing_since: ago(1), message: "another system" }, "rejected", null],
  [{ ...well, failing_since: ago(21), message: "another system" }, "rejected", "failure"],
  // A short failure is not reported, because it is over before anybody looks.
  [{ ...well, feeds: [broken(1)] }, "failing", null],
  [{ ...well, feeds: [broken(10)] }, "failing", null],
  [{ ...well, feeds: [feed, broken(25)] }, "failing", "failure"],
  [{ ...well, feeds: [{ ...feed, data_at: ago(59) }] }, "well", null],
  [{ ...well, feeds: [{ ...feed, data_at: ago(61) }] }, "stale", "warning"],
])("a source is %#: %s", (facts, state, severity) => {
  expect(sourceCondition(facts, NOW).state).toBe(state);
  expect(checkSource(facts, NOW).map(({ status }) => status)).toEqual(severity === null ? [] : [severity]);
});

test("of several feeds that fail, the one that has failed for longest is said, with its reason and what to do", () => {
  const later = { ...broken(25, "HTTP 404 from https://feeds.example/i.json"), feed: "station_information" };
  const [result] = checkSource({ ...well, feeds: [later, broken(30)] }, NOW);
  expect(result).toMatchObject({
    check: "feeds",
    subject: "gbfs",
    detail:
      "the source gbfs: station_status, and 1 more cannot be read for 30 minutes: HTTP 503 from https://feeds.example/s.json",
    fix: "The publisher's server fails. It is asked again by itself; tell the publisher if it lasts.",
    at: ago(30),
    link: { page: "feeds", query: {} },
  });
});

test("a source whose documents cannot be applied is said with the reason, and what to do", () => {
  const [result] = checkSource({ ...well, failing_since: ago(25), message: "The database's disk is full." }, NOW);
  expect(result).toMatchObject({
    detail: "the source gbfs: The database's disk is full.",
    fix: "Correct this cause; the log of the process that follows the source has the details. Nothing of the source is applied meanwhile.",
    at: ago(25),
  });
});

test.each([
  ["HTTP 401 from https://feeds.example/s.json", /key/],
  ["HTTP 404 from https://feeds.example/s.json", /address/],
  ["HTTP 429 from https://feeds.example/s.json", /GBFS_SYNC_EVERY/],
  ["feeds.example does not exist in DNS (https://feeds.example/s.json)", /resolve/],
  ["certificate has expired (https://feeds.example/s.json)", /certificate/],
  ["it is not JSON", /the publisher what cannot be read/],
])("%s has an advice of its own", (message, advice) => {
  expect(feedAdvice(message)).toMatch(advice);
});
