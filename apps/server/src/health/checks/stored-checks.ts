import type { Queryable } from "../../storage/db/database.ts";
import { type CheckState, isActive, type Notice } from "./check-state.rules.ts";
import { type CheckName, type CheckResult, failure } from "./check.ts";
import { type CheckRow, listCheckRows } from "./queries.ts";

/*
 * Findings of checks that are kept: in the memory of this process (`ProcessReports`), and in the database for all processes.
 */

/** The checks that no function runs: parts of this process report when a problem begins and ends. */
export const reportedChecks = ["redis", "replica", "clock"] as const satisfies readonly CheckName[];
type ReportedCheck = (typeof reportedChecks)[number];

/** A problem that a part of this process reports: a failure, unless `status` says otherwise. */
interface Report {
  readonly detail: string;
  readonly fix: string;
  readonly status?: "warning" | "failure";
}

/** Problems that parts of this process have noticed, so that `/readyz` shows them at once. */
export interface ProcessReports {
  /** @param report undefined: it is well again */
  set(check: ReportedCheck, report: Report | undefined): void;
  list(): readonly CheckResult[];
}

export function createProcessReports(): ProcessReports {
  const results = new Map<ReportedCheck, CheckResult>();
  return {
    set(check, report) {
      if (report === undefined) results.delete(check);
      else results.set(check, { ...failure(check, report.detail, report.fix), status: report.status ?? "failure" });
    },
    list: () => [...results.values()],
  };
}

/** Returns the checks that need the operator now, found by any process. */
export async function activeChecks(db: Queryable): Promise<readonly CheckState[]> {
  return (await listCheckRows(db)).map(stateOf).filter(isActive);
}

/** Returns the stored findings of a check that has not ended, even if it has just begun. */
export async function recordedResults(
  db: Queryable,
  { name, of }: Pick<CheckState, "name" | "of">,
): Promise<readonly CheckResult[]> {
  const states = (await listCheckRows(db)).map(stateOf);
  return states.flatMap((state) =>
    state.name === name && state.of === of && state.endedAt === null ? state.results : [],
  );
}

const NOTICES: readonly Notice[] = ["begins", "worsens", "lasts", "ends"];

/** Reads a state from its row. */
export function stateOf(row: CheckRow): CheckState {
  const { name, scope: of, detail, fix, episodes } = row;
  const severity = row.severity === "failure" ? "failure" : "warning";
  return {
    name,
    of,
    detail,
    fix,
    episodes,
    severity,
    unmailed: NOTICES.find((notice) => notice === row.unmailed) ?? null,
    // Release 0.1.0 stores one text for all findings of a check.
    results: Array.isArray(row.results)
      ? (row.results as StoredResult[]).map((result) => ({ ...result, check: name }))
      : [{ check: name, status: severity, detail, fix }],
    beganAt: row.began_at.getTime(),
    seenAt: row.seen_at.getTime(),
    mailedAt: row.mailed_at?.getTime() ?? null,
    endedAt: row.ended_at?.getTime() ?? null,
  };
}

/** What is stored of a result: its check is that of the row, and links and times are not stored. */
type StoredResult = Pick<CheckResult, "status" | "detail" | "fix" | "subject" | "count">;

/** Returns the row of a state. `stateOf` does the reverse. */
export function rowOf({ of: scope, results, beganAt, seenAt, mailedAt, endedAt, ...rest }: CheckState): CheckRow {
  const instant = (at: number | null) => (at === null ? null : new Date(at));
  const { name, severity, detail, fix, episodes, unmailed } = rest;
  const kept: StoredResult[] = results.map(({ status, detail: text, fix: remedy, subject, count }) => ({
    status,
    detail: text,
    ...(remedy !== undefined && { fix: remedy }),
    ...(subject !== undefined && { subject }),
    ...(count !== undefined && { count }),
  }));
  return {
    name,
    scope,
    severity,
    detail,
    fix,
    episodes,
    unmailed,
    began_at: new Date(beganAt),
    seen_at: new Date(seenAt),
    mailed_at: instant(mailedAt),
    ended_at: instant(endedAt),
    results: JSON.stringify(kept),
  };
}
