import { Counter, type Registry } from "prom-client";
import { cityFigures } from "../../city/history/summary.ts";
import { largestHolders } from "../../city/reservations/service.ts";
import type { Config } from "../../config.ts";
import { allFeedAges } from "../../feeds/gbfs/source-state.ts";
import { runningImports, type RunningImports } from "../../feeds/imports/service.ts";
import type { WorkStatus } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import { machineFigures } from "../checks/machine-checks.ts";
import { countResults, type CurrentResult } from "../checks/runner.ts";
import { databaseHealth } from "../database-health/service.ts";
import {
  watchCity,
  watchDatabaseHealth,
  watchFeedAges,
  watchMachine,
  watchReservations,
  watchSamples,
} from "./sampled-metrics.ts";

/** Sources of metrics that are read at each scrape, rather than counted when something happens. */
interface Sources {
  readonly db: Database;
  readonly config: Config;
  readonly clock: () => number;
  readonly works: () => readonly WorkStatus[];
  readonly checkResults: () => readonly CurrentResult[];
}

/**
 * Adds the metrics that a process of any role reads at each scrape: the groups below, and those of sampled-metrics.ts. The
 * groups are exported for the tool that writes docs/metrics.md, which has no database.
 */
export function watchSources(registry: Registry, { db, config, clock, works, checkResults }: Sources): void {
  watchChecks(registry, checkResults);
  watchFeedAges(registry, () => allFeedAges(db, clock()));
  watchDatabaseHealth(registry, () => databaseHealth(db));
  watchMachine(registry, () => machineFigures(config, clock()));
  watchWorks(registry, works);
  watchImports(registry, () => runningImports(db));
  watchCity(registry, () => cityFigures(db, clock()));
  watchReservations(registry, () => largestHolders(db, clock()));
}

/** Adds the findings of the checks that this process runs. */
export function watchChecks(registry: Registry, read: () => readonly CurrentResult[]): void {
  watchSamples(
    registry,
    () => Promise.resolve(countResults(read())),
    ["name", "scope", "severity"],
    [
      {
        name: "bikeshare_check",
        help: "Results of a check that need somebody, by severity, or that are acknowledged; 0: it is well.",
        valueOf: ({ n }) => n,
        labelsOf: ({ name, scope, severity }) => ({ name, scope, severity }),
      },
    ],
  );
}

/** Adds the runs of this process's background work, and their success. */
export function watchWorks(registry: Registry, read: () => readonly WorkStatus[]): void {
  new Counter({
    name: "bikeshare_background_runs_total",
    help: "Runs of background work that have ended.",
    labelNames: ["work", "outcome"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { work, succeededRuns, failedRuns } of read()) {
        this.inc({ work, outcome: "succeeded" }, succeededRuns);
        this.inc({ work, outcome: "failed" }, failedRuns);
      }
    },
  });
  const labelsOf = ({ work }: WorkStatus) => ({ work });
  const inSeconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
  watchSamples(
    registry,
    () => Promise.resolve(read()),
    ["work"],
    [
      {
        name: "bikeshare_background_success_age_seconds",
        help: "Time since a run of background work last succeeded.",
        valueOf: ({ successAgeMs }) => inSeconds(successAgeMs),
        labelsOf,
      },
      {
        name: "bikeshare_background_last_run_seconds",
        help: "How long the latest run of background work took.",
        valueOf: ({ lastRunMs }) => inSeconds(lastRunMs),
        labelsOf,
      },
    ],
  );
}

/** Adds the imports that run, in any process. */
export function watchImports(registry: Registry, read: () => Promise<readonly RunningImports[]>): void {
  // Read by the first group of gauges; the gauge of rows, which is collected later, shares it.
  let reading: Promise<readonly RunningImports[]> = Promise.resolve([]);
  const labelsOf = ({ systemId: system, kind }: RunningImports) => ({ system, kind });
  watchSamples(
    registry,
    () => (reading = read()),
    ["system", "kind"],
    [
      {
        name: "bikeshare_running_imports",
        help: "Imports that run now, those of the command line included.",
        valueOf: ({ imports }) => imports,
        labelsOf,
      },
      {
        name: "bikeshare_import_running_seconds",
        help: "Time since the oldest running import began.",
        valueOf: ({ seconds }) => seconds,
        labelsOf,
      },
      {
        name: "bikeshare_import_idle_seconds",
        help: "Longest time that a running import has made no progress.",
        valueOf: ({ idle_seconds: seconds }) => seconds,
        labelsOf,
      },
      {
        name: "bikeshare_import_progress_ratio",
        help: "Share done of the running import of trips that is least far.",
        valueOf: ({ share }) => share ?? undefined,
        labelsOf,
      },
    ],
  );
  watchSamples(
    registry,
    async () => (await reading).flatMap(rowsOf),
    ["system", "kind", "state"],
    [
      {
        name: "bikeshare_import_rows",
        help: "Rows of running imports so far, by outcome.",
        valueOf: ({ rows }) => rows,
        labelsOf: ({ systemId: system, kind, state }) => ({ system, kind, state }),
      },
    ],
  );
}

function rowsOf({ systemId, kind, rows_read: read, created, unchanged, rejected }: RunningImports) {
  return Object.entries({ read, created, unchanged, rejected }).map(([state, rows]) => ({
    systemId,
    kind,
    state,
    rows,
  }));
}
