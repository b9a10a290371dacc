import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { labelsOf as labelsIn, metricsIn, readMetrics } from "../../../tools/pages/metrics.ts";
import { createMetrics } from "./registry.ts";
import { watchDatabaseHealth, watchMachine } from "./sampled-metrics.ts";

const page = await readFile(join(import.meta.dirname, "../../../../../docs/metrics.md"), "utf8");
const text = await readMetrics();

/** Returns the texts between backticks. */
const coded = (cell: string | undefined) => [...(cell ?? "").matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? "");

const labelsOf = (name: string) => labelsIn(text, name);
const shown = metricsIn(text);

test("the page has every value that a label can take, but for the names of systems, sources, partners, checks and versions", () => {
  const free = new Set(["system", "source", "partner", "version", "route", "method", "replica", "name"]);
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  const onPage = new Set(coded(rows.join("\n")));
  expect(shown.length).toBeGreaterThan(20);
  const values = shown.flatMap(({ name }) => [...labelsOf(name)].filter(([label]) => !free.has(label)));
  expect(values.flatMap(([, taken]) => [...taken]).filter((value) => !onPage.has(value))).toEqual([]);
});

test("alert rules and the dashboard ask for metrics, labels and values of labels that there are", async () => {
  const read = (path: string) => readFile(join(import.meta.dirname, path), "utf8");
  const rules = await read("../../../../../deploy/prometheus/alerts.yml");
  const dashboard = await read("../../../../../deploy/grafana/dashboard.json");
  const runbook = await read("../../../../../docs/runbook.md");
  const asked = `${rules}${dashboard.replaceAll('\\"', '"')}`;
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  const pages = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.length).toBeGreaterThan(10);
  expect(pages).toEqual(expect.arrayContaining(alerts));
  expect(pages).toHaveLength(alerts.length);
  // Only the service knows the thresholds of checks. The alert rules just ask whether a check has found something.
  for (const [, expr = ""] of rules.matchAll(/expr: (.*bikeshare_check.*)/g)) expect(expr).toMatch(/ > 0$/);
  for (const name of alerts) expect(rules).toContain(`runbook_url: docs/runbook.md#${name.toLowerCase()}\n`);

  const [ours, ofNode] = [/\bbikeshare_\w+/g, /\b(?:process|nodejs)_\w+/g].map(
    (pattern) => new Set([...asked.matchAll(pattern)].map(([name]) => name.replace(/_bucket$/, ""))),
  );
  expect([...(ours ?? [])].filter((name) => !shown.some((metric) => metric.name === name))).toEqual([]);
  expect([...(ofNode ?? [])].filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
  for (const [, name = "", label = "", values = ""] of asked.matchAll(/(bikeshare_\w+){(\w+)=~?"([^"]*)"}/g)) {
    const taken = labelsOf(name).get(label);
    const isTaken = (value: string) => [...(taken ?? [])].some((each) => new RegExp(`^(?:${value})$`).test(each));
    expect(values.split("|").filter((value) => !isTaken(value))).toEqual([]);
  }
  // Finds `by (system, partner) (…(bikeshare_…`. The labels to group by must be labels of the metric.
  for (const [, labels = "", name = ""] of asked.matchAll(/by \(([\w, ]+)\) \((?:\w+\()*(bikeshare_\w+)/g)) {
    const known = [...labelsOf(name.replace(/_bucket$/, "")).keys(), "le", "instance"];
    expect(known, name).toEqual(expect.arrayContaining(labels.split(", ")));
  }
});

test("every metric is named and described as Prometheus asks for", () => {
  for (const { name, type } of shown) {
    expect(name).toMatch(/^bikeshare_[a-z]+(?:_[a-z]+)*$/);
    expect(name.endsWith("_total"), name).toBe(type === "counter");
    // Base units: seconds, and no other unit of time.
    expect(name).not.toMatch(/_(?:ms|milliseconds|minutes|hours)(?:_|$)/);
    if (type === "histogram") expect(name).toMatch(/_(?:seconds|ratio)$/);
    expect(text).toMatch(new RegExp(`^# HELP ${name} [A-Z].{10,}\\.$`, "m"));
  }
});

test("a process shows a few hundred series of ours, whatever happens", () => {
  const series = text.split("\n").filter((line) => line.startsWith("bikeshare_"));
  expect(series.length).toBeLessThan(400);
});

test("what is not configured, or cannot be read, is absent rather than 0", async () => {
  const metrics = createMetrics({ version: "1" });
  watchMachine(metrics.registry, () =>
    Promise.resolve({ certificateExpiresAt: undefined, latestBackupAgeMs: undefined }),
  );
  watchDatabaseHealth(metrics.registry, () => Promise.reject(new Error("away")));
  expect(await metrics.text()).not.toMatch(/^bikeshare_(?:certificate|latest_backup|postgres)\w* \d/m);
});
