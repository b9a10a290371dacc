import { expect, test } from "vitest";
import { createConditions } from "../../health/conditions/conditions.ts";
import { logPolls, type PollResult } from "./follow.ts";

const START = Date.UTC(2026, 0, 1);
const quiet: PollResult = {
  at: "",
  outcome: "unchanged",
  stations: null,
  bikes: null,
  events: {},
  failures: [],
  ages: {},
  data_ages: {},
  stale: [],
  older: [],
  report: null,
};
const counts = { created: 1, updated: 0, unchanged: 0, removed: 0, rejected: 0 };

/** Opens a log of polls, and collects its lines. */
function openLog() {
  let now = 0;
  const lines: { second: number; level: string; message: string; detail: Record<string, unknown> }[] = [];
  const note = (level: string) => (detail: object, message: string) =>
    void lines.push({ second: now / 1000, level, message, detail: { ...detail } });
  const log = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const conditions = createConditions({ monotonic: () => now, log });
  const hear = logPolls(log, conditions, { system: "main", source: "oslo" });
  return {
    lines,
    round(over: Partial<PollResult>, error?: unknown) {
      hear({ ...quiet, ...over }, error);
      now += 10_000;
      conditions.check();
    },
  };
}

const failing = (attempt: number) => ({
  feed: "station_status",
  message: "HTTP 500",
  since: new Date(START).toISOString(),
  retry_at: new Date(START + attempt * 1000).toISOString(),
});

test("a feed that fails for long is one line, then one a minute with a count, then one when it is well", () => {
  const { lines, round } = openLog();
  for (let attempt = 0; attempt < 15; attempt++) round({ outcome: "partial", failures: [failing(attempt)] });
  round({ outcome: "unchanged" });
  round({ outcome: "unchanged" });
  expect(lines.filter(({ level }) => level !== "debug").map(({ second, level }) => [second, level])).toEqual([
    [0, "warn"],
    [60, "warn"],
    [120, "warn"],
    [150, "info"],
  ]);
  const [first, second] = lines;
  expect(first).toMatchObject({
    message: 'the feed station_status of "oslo" failed; retrying soon',
    detail: { system: "main", source: "oslo", feed: "station_status", reason: "HTTP 500" },
  });
  expect(second).toMatchObject({ detail: { works: ['the feed station_status of "oslo"'], failures: 5 } });
});

test("a feed that is not asked again yet is not a further failure", () => {
  const { lines, round } = openLog();
  for (let each = 0; each < 15; each++) round({ outcome: "partial", failures: [failing(0)] });
  expect(lines.map(({ level }) => level)).toEqual(["warn"]);
});

test("a report that cannot be written is a line of its own, until one was written", () => {
  const { lines, round } = openLog();
  round({ outcome: "applied", stations: counts, reportError: new Error("EACCES") });
  round({ outcome: "unchanged" });
  round({ outcome: "applied", stations: counts, report: "/reports/a.ndjson" });
  const work = 'writing the report about the GBFS source "oslo"';
  expect(lines.filter(({ message }) => message.includes(work)).map(({ second, level }) => [second, level])).toEqual([
    [0, "warn"],
    [20, "info"],
  ]);
  expect(lines.filter(({ message }) => message === "GBFS feed applied")).toHaveLength(2);
});

test("what was applied is a line with the source's name, also beside what fails", () => {
  const { lines, round } = openLog();
  round({ outcome: "partial", stations: counts, failures: [failing(0)] });
  expect(lines.at(-1)).toMatchObject({
    level: "info",
    message: "GBFS feed applied",
    detail: { system: "main", source: "oslo", outcome: "partial", stations: { created: 1 } },
  });
});

test("what is not a failure of a feed is logged as what it is", () => {
  const { lines, round } = openLog();
  const away = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const failure = { feed: "", message: away.message, since: null, retry_at: "2026-06-01T12:01:00.000Z" };
  round({ outcome: "failed", failures: [failure] }, away);
  round({ outcome: "failed", failures: [failure] }, away);
  round({ outcome: "unchanged" });
  expect(lines.filter(({ level }) => level !== "debug")).toMatchObject([{ level: "warn" }, { level: "info" }]);
});
