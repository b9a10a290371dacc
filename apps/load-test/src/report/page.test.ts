import type { RunResult } from "@bikeshare/load";
import { anyText } from "@bikeshare/test-kit/text";
import fc from "fast-check";
import { expect, it } from "vitest";
import { resultOf, secondOf } from "../../test/results.ts";
import { timeCharts } from "./charts.ts";
import { reportPage } from "./page.ts";

// A fixed seed, so that a failure can be repeated on another machine.
fc.configureGlobal({ seed: 1 });

const seconds = Array.from({ length: 60 }, (_, second) => secondOf(second, 10 + (second % 7)));

/** Returns a result that contains the text in every place whose content a service or a user controls. */
function resultWith(text: string): RunResult {
  const result = resultOf({ seconds });
  const outcome = { endpoint: text, outcome: text, isExpected: false, count: 1 };
  return {
    ...result,
    settings: { ...result.settings, name: text, url: text },
    invalidReasons: [text],
    violations: [text],
    thresholds: [{ text, value: 1, isTime: false, passed: false }],
    contract: { checked: 1, violations: [text] },
    streams: result.streams.map((stream) => ({ ...stream, name: text, outcomes: [outcome] })),
    serverMetrics: [
      {
        title: text,
        unit: text,
        points: [
          { seconds: 0, value: 1 },
          { seconds: 1, value: 2 },
        ],
      },
    ],
    knee: { lastGoodPerSecond: 1, steps: [{ ratePerSecond: 1, passed: false, p99: 1, reasons: [text] }] },
  };
}

/** Returns the tags of a page: the name of each element with the names of its attributes. */
function tagsOf(page: string): string[] {
  return [...page.matchAll(/<([a-z!/][^>]*)>/gi)].map(([, tag = ""]) => tag.replaceAll(/="[^"]*"/g, "").trim());
}

it("whatever a service answers is text in the page, never markup", () => {
  const plain = tagsOf(reportPage(resultWith("plain"), resultWith("plain")));
  const hostile = fc.oneof(
    anyText(),
    fc.constantFrom(
      "<script>alert(1)</script>",
      '"><img src=x onerror=alert(1)>',
      "</title></style><svg onload=x>",
      "&lt;",
      "'\"<!--",
    ),
  );
  fc.assert(
    fc.property(hostile, (text) => {
      expect(tagsOf(reportPage(resultWith(text), resultWith(text)))).toEqual(plain);
    }),
    { numRuns: 12 },
  );
});

it("the page needs nothing else: no script, no file, no network", () => {
  const page = reportPage(resultOf({ seconds }), resultOf({ seconds }));
  expect(page).not.toMatch(/<script|<link|<img|<iframe|src=|href=|url\(|@import/i);
  expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
});

it("no coordinate of a chart is missing, even of a run without an answer", () => {
  for (const result of [
    resultOf({ seconds }),
    resultOf({ seconds: [] }),
    resultOf({ p50: 0, p99: 0, seconds: [secondOf(0, 0)] }),
  ]) {
    expect(reportPage(result, undefined)).not.toMatch(/NaN|Infinity|undefined/);
  }
});

it("thresholds are shown with the unit of what was measured", () => {
  const thresholds = [
    { text: "p99<1s", value: 271.8, isTime: true, passed: true },
    { text: "lost<=0", value: 3, isTime: false, passed: false },
  ];
  const page = reportPage({ ...resultOf({ seconds }), thresholds }, undefined);
  expect(page).toMatch(/p99&lt;1s<\/td>\s*<td[^>]*>272 ms</);
  expect(page).toMatch(/lost&lt;=0<\/td>\s*<td[^>]*>3</);
});

it("what comes after the last second of the load is not drawn as a fall of the throughput", () => {
  const after = { ...secondOf(seconds.length, 10), started: 0, answered: 1 };
  expect(reportPage(resultOf({ seconds: [...seconds, after] }), undefined)).toBe(
    reportPage(resultOf({ seconds }), undefined),
  );
});

it("a longer baseline is drawn as far as the run's axis goes", () => {
  const ofBaseline = (length: number) => {
    const baseline = resultOf({ seconds: Array.from({ length }, (_, second) => secondOf(second, 10 + second)) });
    return { ...baseline, settings: { ...baseline.settings, durationSeconds: length } };
  };
  const run = resultOf({ seconds });
  expect(timeCharts(run, ofBaseline(120))).toEqual(timeCharts(run, ofBaseline(60)));
});
