import { createTestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CliHarness, openCliHarness } from "../../test/cli/cli.harness.ts";
import { registerAlerts } from "./alerts.ts";

let harness: CliHarness;
beforeAll(async () => {
  harness = await openCliHarness({ clock: createTestClock(), register: registerAlerts });
});
afterAll(() => harness.close());

const open = (...args: string[]) => harness.run("--json", "alerts", "open", ...args);

test("`alerts open` takes a text in several languages, `end` ends it, and both are in the audit log", async () => {
  const texts = ["--summary", "nb=Arbeid = stengt", "--summary", "en-GB=Works"];
  const { stdout } = await open("works", "--type", "station_closure", ...texts, "--end", "2026-06-02T00:00:00+02:00");
  expect(JSON.parse(stdout)).toMatchObject({
    summary: [
      { language: "nb", text: "Arbeid = stengt" },
      { language: "en-GB", text: "Works" },
    ],
    times: [{ start: null, end: "2026-06-01T22:00:00.000Z" }],
    ended_at: null,
  });
  expect((await harness.run("alerts", "list")).stdout).toMatch(
    /works +station_closure +Arbeid = stengt +- +- +operator/,
  );
  await harness.run("alerts", "end", "works");
  expect((await harness.run("alerts", "list")).stdout).toBe("No alerts.\n");
  expect((await harness.run("alerts", "list", "--all")).stdout).toContain("works");
  const acts = await harness.db.query<{ action: string }>({
    name: "",
    text: "select action from audit_log where subject = 'works' order by id",
  });
  expect(acts.map(({ action }) => action)).toEqual(["alert.opened", "alert.ended"]);
});

test("`alerts open` with one of both times leaves the other as it was", async () => {
  const [start, end] = ["2026-06-03T00:00:00.000Z", "2026-06-04T00:00:00.000Z"];
  await open("times", "--type", "other", "--summary", "Works", "--start", start);
  expect(JSON.parse((await open("times", "--end", end)).stdout)).toMatchObject({ times: [{ start, end }] });
  const later = "2026-06-03T12:00:00.000Z";
  expect(JSON.parse((await open("times", "--start", later)).stdout)).toMatchObject({ times: [{ start: later, end }] });
  await harness.run("alerts", "end", "times");
});

test("a language's letters are in either case, as in `systems set`", async () => {
  const { stdout } = await open(
    "cases",
    "--type",
    "other",
    "--summary",
    "NB=Stengt",
    "--url",
    "en-gb=https://a.example/",
  );
  expect(JSON.parse(stdout)).toMatchObject({
    summary: [{ language: "nb", text: "Stengt" }],
    url: [{ language: "en-GB", text: "https://a.example/" }],
  });
  await harness.run("alerts", "end", "cases");
});

test.each([
  [["a", "--type", "other"], /^type and summary must be given/],
  [["a", "--type", "party", "--summary", "x"], /^--type is "party"/],
  [
    ["a", "--type", "other", "--summary", "nb=x", "--summary", "y"],
    /^--summary is given 2 times: begin each with its language/,
  ],
  [["a", "--type", "other", "--summary", "x", "--url", "ftp://x"], /^url must be a web address/],
  [["a", "--type", "other", "--summary", "x", "--end", "tomorrow"], /^times\.0\.end must be an RFC 3339 instant/],
  [
    ["a", "--type", "other", "--summary", "x", "--stations", "s1,s2"],
    /^station_ids names stations that there are not: s1, s2/,
  ],
])("`alerts open %j` is refused in words, and opens nothing", async (args, message) => {
  await expect(open(...args)).rejects.toThrow(message);
  expect((await harness.run("alerts", "list")).stdout).toBe("No alerts.\n");
});
