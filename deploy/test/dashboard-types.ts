import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The directory in which dashboards are compiled. The compiler finds Grafana's types from here. */
const directory = join(import.meta.dirname, "../node_modules/.dashboard-types");

/**
 * The type of a Grafana dashboard whose charts are Prometheus time series, from Grafana's schema (`@grafana/schema`). The
 * schema has no types of queries, which belong to each data source.
 */
const TYPES = `
import type { Dashboard, DataQuery, DataSourceRef, GraphFieldConfig, Panel, RowPanel } from "@grafana/schema";
import type { Options } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";
interface PrometheusQuery extends DataQuery {
  expr: string; legendFormat: string; exemplar?: boolean; format?: "time_series" | "table" | "heatmap"; instant?: boolean;
}
interface Chart extends Omit<Panel<Options, GraphFieldConfig>, "options" | "targets"> {
  id: number; title: string; type: "timeseries"; datasource: DataSourceRef; gridPos: NonNullable<Panel["gridPos"]>;
  targets: PrometheusQuery[]; options?: Partial<Options>;
}
interface Row extends RowPanel { gridPos: NonNullable<RowPanel["gridPos"]> }
export interface TypedDashboard extends Omit<Dashboard, "panels"> { panels: (Chart | Row)[] }
`;

/** Compiles dashboards against the schema. @returns the errors of the compiler, line by line, for each dashboard */
export function typeErrorsOf(dashboards: Readonly<Record<string, unknown>>): Record<string, string[]> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "types.ts"), TYPES);
  for (const [name, dashboard] of Object.entries(dashboards)) {
    // Written as a literal: unlike with an imported JSON file, its strings keep their literal types, and unknown properties
    // are errors.
    const literal = JSON.stringify(dashboard, null, 1);
    const text = `import type { TypedDashboard } from "./types.ts";\nexport const dashboard: TypedDashboard = ${literal};\n`;
    writeFileSync(join(directory, `${name}.ts`), text);
  }
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: [],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  const said = compile();
  rmSync(directory, { recursive: true });
  const errors = Object.fromEntries(Object.keys(dashboards).map((name) => [name, [] as string[]]));
  for (const line of said.split("\n").filter((each) => each.includes("error TS"))) {
    const [, name = ""] = /^(\w+)\.ts\(/.exec(line) ?? [];
    (errors[name] ??= []).push(line);
  }
  return errors;
}

function compile(): string {
  const compiler = join(import.meta.dirname, "../../node_modules/.bin/tsc");
  try {
    return execFileSync(compiler, ["-p", "tsconfig.json", "--pretty", "false"], { cwd: directory, encoding: "utf8" });
  } catch (error) {
    if (error instanceof Error && "stdout" in error && typeof error.stdout === "string") return error.stdout;
    throw error;
  }
}
