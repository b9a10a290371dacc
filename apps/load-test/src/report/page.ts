import { html, type LatencySummary, Markup, type RunResult } from "@bikeshare/load";
import { compareWithBaseline } from "./baseline.ts";
import { percentileChart, serverCharts, timeCharts } from "./charts.ts";
import { style } from "./style.ts";
import { measuredText, shortMs } from "./text.ts";

/**
 * Returns the report as one self-contained HTML page: without scripts, other files or network requests. `html` escapes every
 * inserted text that is not `Markup`.
 */
export function reportPage(result: RunResult, baseline: RunResult | undefined): string {
  const { settings, serverMetrics } = result;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <title>Load test: ${settings.name}</title>
        <style>
          ${new Markup(style)}
        </style>
      </head>
      <body>
        ${heading(result)} ${problems(result)} ${thresholds(result)} ${knee(result)}
        <h2>Response times</h2>
        ${latencyTable(result)} ${percentileChart(result, baseline)}
        ${baseline === undefined ? undefined : comparison(baseline, result)}
        <h2>Over time</h2>
        ${timeCharts(result, baseline)}
        ${
          serverMetrics.length === 0
            ? undefined
            : html`<h2>The server's own metrics</h2>
                ${serverCharts(result)}`
        }
        ${webhooks(result)} ${outcomes(result)}
      </body>
    </html> `.text;
}

function heading({ settings, startedAt, totals, passed, invalidReasons }: RunResult): Markup {
  const { name, url, mode, durationSeconds, warmUpSeconds, workers, connections, seed } = settings;
  const failure = invalidReasons.length > 0 ? "Invalid" : "Failed";
  const model =
    mode === "open"
      ? "Open model: latency counts from the time at which a request was meant to start."
      : "Closed model: each connection sends when it is answered, so waits are hidden. For saturation only.";
  return html`<h1>Load test: ${name}</h1>
    <p class="verdict ${passed ? "good" : "bad"}">${passed ? "Passed" : failure}</p>
    <p>
      ${totals.answered} answers in ${durationSeconds} s, ${totals.perSecond} a second, ${totals.unexpected} of them
      unexpected.
    </p>
    <p class="faint">
      ${url}, ${startedAt}. ${model} Threads: ${workers}; connections: ${connections}; seed: ${seed}; the first
      ${warmUpSeconds} s are not in the percentiles.
    </p>`;
}

/** Maximum problems that the page lists. `result.json` has all. */
const MAX_SHOWN = 50;

function problems({ invalidReasons, violations, contract, streams }: RunResult): Markup | undefined {
  const unexpected = streams.flatMap(({ name, outcomes: all }) =>
    all
      .filter(({ isExpected }) => !isExpected)
      .map(({ endpoint, outcome, count }) => `${name}: ${count} × ${endpoint} answered ${outcome}`),
  );
  const texts = [
    ...invalidReasons,
    ...unexpected,
    ...violations,
    ...contract.violations.map((violation) => `Breaks the contract: ${violation}`),
  ];
  if (texts.length === 0) return undefined;
  return html`<h2>What was wrong</h2>
    <ul>
      ${texts.slice(0, MAX_SHOWN).map((text) => html`<li>${text}</li>`)}
    </ul>`;
}

function thresholds({ thresholds: results }: RunResult): Markup | undefined {
  if (results.length === 0) return undefined;
  return table(
    ["Threshold", "measured", ""],
    results.map((result) => [
      result.text,
      measuredText(result),
      html`<span class="${result.passed ? "good" : "bad"}">${result.passed ? "kept" : "broken"}</span>`,
    ]),
  );
}

/** The search for the knee: the highest rate at which the service still met all thresholds. Undefined: not searched for. */
function knee({ knee: found }: RunResult): Markup | undefined {
  if (found === undefined) return undefined;
  return html`<h2>Last good rate: ${found.lastGoodPerSecond ?? "none"} a second</h2>
    ${table(
      ["requests a second", "p99", "", ""],
      found.steps.map(({ ratePerSecond, p99, passed, reasons }) => [
        ratePerSecond,
        shortMs(p99),
        passed ? "good" : "not good",
        reasons.join("; "),
      ]),
    )}`;
}

function latencyTable({ streams, latency, webhooks: delivered }: RunResult): Markup {
  const figures = ({ count, percentiles, max }: LatencySummary) => [
    count,
    ...["50", "90", "99", "99.9"].map((percentile) => shortMs(percentiles[percentile] ?? 0)),
    shortMs(max),
  ];
  return table(
    ["", "a second", "requests", "p50", "p90", "p99", "p99.9", "longest"],
    [
      ...streams.map(({ name, intendedPerSecond, latency: { response } }) => [
        name,
        intendedPerSecond === undefined ? "" : Number(intendedPerSecond.toFixed(2)),
        ...figures(response),
      ]),
      ["all: response time", "", ...figures(latency.response)],
      ["all: service time", "", ...figures(latency.service)],
      ["all: start lag", "", ...figures(latency.lag)],
      ...(delivered === undefined
        ? []
        : [
            ["webhooks: occurred to received", "", ...figures(delivered.occurredToReceived)],
            ["webhooks: sent to received", "", ...figures(delivered.sentToReceived)],
          ]),
    ],
  );
}

function comparison(baseline: RunResult, result: RunResult): Markup {
  const signed = (value: number, unit: string) => `${value > 0 ? "+" : ""}${value.toFixed(2)} ${unit}`;
  return html`<h2>Against the baseline of ${baseline.startedAt}</h2>
    <p class="faint">
      Means over the seconds of each second's figure; the interval holds the difference 95 times in 100 (bootstrap over
      blocks of 5 s).
    </p>
    ${table(
      ["", "baseline", "now", "difference", "95 % interval", ""],
      compareWithBaseline(baseline, result).map(({ title, unit, before, after, difference, low, high, isClear }) => [
        title,
        `${before.toFixed(2)} ${unit}`,
        `${after.toFixed(2)} ${unit}`,
        signed(difference, unit),
        `${signed(low, unit)} to ${signed(high, unit)}`,
        isClear ? "differs" : "within noise",
      ]),
    )}`;
}

function webhooks({ webhooks: delivered }: RunResult): Markup | undefined {
  if (delivered === undefined) return undefined;
  const { expected, received, lost, repeated, reordered, unverified, endpoints, examples } = delivered;
  return html`<h2>Webhooks</h2>
    ${table(
      ["endpoints", "expected", "received", "lost", "repeated", "out of order", "unverified"],
      [[endpoints, expected, received, lost, repeated, reordered, unverified]],
    )}${examples.length === 0 ? undefined : html`<p>Lost, among others: ${examples.join(", ")}.</p>`}`;
}

function outcomes({ streams, contract }: RunResult): Markup {
  return html`<h2>Answers</h2>
    <p class="faint">${contract.checked} of them were compared with the contract's schemas.</p>
    ${table(
      ["stream", "endpoint", "answer", "count"],
      streams.flatMap(({ name, outcomes: all }) =>
        all.map(({ endpoint, outcome, count, isExpected }) => [
          name,
          endpoint,
          html`<span class="${isExpected ? "" : "bad"}">${outcome}</span>`,
          count,
        ]),
      ),
    )}`;
}

type Cell = string | number | Markup;

function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): Markup {
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          ${titles.map((title) => html`<th>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
