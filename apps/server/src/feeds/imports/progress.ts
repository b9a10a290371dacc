import { systemsOf } from "../../city/systems/service.ts";
import { startPeriodic } from "../../storage/background/periodic.ts";
import type { Database, Queryable } from "../../storage/db/database.ts";
import {
  deleteRunningImport,
  listRunningImports,
  type ProgressRow,
  type RunningImportsRow,
  updateRunningImport,
} from "./queries.ts";

/** The progress of a running import; an omitted number is 0 or unknown. */
export type Progress = Partial<ProgressRow>;

/** The imports of one kind that run now in a system. */
export interface RunningImports extends RunningImportsRow {
  readonly systemId: string;
}

/** Too high: a monitor that polls every 15 s sees steps. Too low: writes more rows. */
const WRITE_INTERVAL_MS = 5_000;
/** An import that was killed counts as running for so long: four intervals, so that a slow one is not forgotten. */
const ALIVE_MS = 20_000;

export interface ReportedImport {
  readonly db: Queryable;
  readonly systemId: string;
  readonly importId: string;
  readonly kind: "trips" | "gbfs" | "replay";
}

/**
 * Does an import, and writes meanwhile how far it is, for processes that show it to others.
 * @param progress asked every few seconds
 */
export async function whileReporting<Result>(
  { db, systemId, importId: id, kind }: ReportedImport,
  progress: () => Progress,
  work: () => Promise<Result>,
): Promise<Result> {
  const none = { share: null, rows_read: 0, created: 0, unchanged: 0, rejected: 0 };
  const reporting = startPeriodic({
    intervalMs: WRITE_INTERVAL_MS,
    work: () => updateRunningImport(db, { systemId, id, kind }, ALIVE_MS, { ...none, ...progress() }),
    // The import itself reports database errors.
    onError: () => undefined,
    immediately: true,
  });
  try {
    return await work();
  } finally {
    await reporting.close();
    await deleteRunningImport(db, systemId, id).catch(() => undefined);
  }
}

/** All imports that run now, in this process or another. */
export async function runningImports(db: Database): Promise<RunningImports[]> {
  const running: RunningImports[] = [];
  for (const { system_id: systemId } of await systemsOf(db))
    running.push(...(await runningImportsOf(db, systemId)).map((row) => ({ systemId, ...row })));
  return running;
}

/** Returns the running imports of one system. */
export function runningImportsOf(db: Queryable, systemId: string): Promise<RunningImportsRow[]> {
  return listRunningImports(db, systemId);
}
