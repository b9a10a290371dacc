import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typeErrorsOf } from "./dashboard-types.ts";
import { isInstalled } from "./proxies.ts";

const directory = join(import.meta.dirname, "../prometheus");
const isHere = isInstalled("promtool");
const note = isHere ? "" : " (skipped: promtool is not installed)";
const promtool = (...args: string[]) => execFileSync("promtool", args, { cwd: directory, encoding: "utf8" });

it.skipIf(!isHere)(`each alert fires on what it is about, and none while all is well${note}`, () => {
  expect(promtool("check", "config", "prometheus.yml")).toContain("SUCCESS");
  expect(promtool("test", "rules", "alerts.test.yml")).toContain("SUCCESS");
  const names = (file: string, pattern: RegExp) =>
    [...readFileSync(join(directory, file), "utf8").matchAll(pattern)]
      .map(([, name = ""]) => name)
      .toSorted((a, b) => (a < b ? -1 : 1));
  const fired = names("alerts.test.yml", /alertname="(\w+)"/g);
  expect(fired).toEqual(names("alerts.yml", /- alert: (\w+)/g));
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

it("the dashboard has panels that Grafana can place, each with a question in Prometheus's language", () => {
  const file = join(directory, "../grafana/dashboard.json");
  const { panels } = JSON.parse(readFileSync(file, "utf8")) as { panels: Panel[] };
  const charts = panels.filter(({ type }) => type !== "row");
  expect(charts.length).toBeGreaterThan(15);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  for (const { gridPos, title } of panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
    const overlapping = panels.filter(
      ({ gridPos: other }) =>
        Math.max(other.x, gridPos.x) < Math.min(other.x + other.w, gridPos.x + gridPos.w) &&
        Math.max(other.y, gridPos.y) < Math.min(other.y + other.h, gridPos.y + gridPos.h),
    );
    expect(overlapping, title).toHaveLength(1);
  }
  const questions = charts.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(questions.length).toBeGreaterThanOrEqual(charts.length);
  if (!isHere) return;
  const rules = questions.map((expr, index) => `  - record: question_${index}\n    expr: ${JSON.stringify(expr)}`);
  const copies = mkdtempSync(join(tmpdir(), "bikeshare-questions-"));
  writeFileSync(join(copies, "rules.yml"), `groups:\n- name: dashboard\n  rules:\n${rules.join("\n")}\n`);
  expect(promtool("check", "rules", join(copies, "rules.yml"))).toContain("SUCCESS");
  rmSync(copies, { recursive: true });
});

it("the dashboard is what Grafana's own schema describes", () => {
  const text = readFileSync(join(directory, "../grafana/dashboard.json"), "utf8");
  const changed = (change: (dashboard: { panels: Record<string, unknown>[]; [name: string]: unknown }) => void) => {
    const dashboard = JSON.parse(text) as Parameters<typeof change>[0];
    change(dashboard);
    return dashboard;
  };
  const errors = typeErrorsOf({
    ours: JSON.parse(text) as unknown,
    unknownProperty: changed((dashboard) => (dashboard["refreshed"] = "30s")),
    unknownChart: changed(({ panels }) => panels.forEach((panel) => (panel["type"] = "timesery"))),
    noGridPosition: changed(({ panels }) => panels.forEach((panel) => delete panel["gridPos"])),
    wrongUnit: changed(
      ({ panels }) => (panels[1] = { ...panels[1], fieldConfig: { defaults: { unit: 1 }, overrides: [] } }),
    ),
  });
  const { ours, ...others } = errors;
  expect(ours).toEqual([]);
  expect(Object.entries(others).filter(([, found]) => found.length === 0)).toEqual([]);
  expect(Object.keys(others)).toHaveLength(4);
});
