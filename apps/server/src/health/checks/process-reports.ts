import { type CheckName, type CheckResult, failure } from "./check.ts";

/** The checks whose state a part of this process knows, and reports. */
export const reportedChecks = ["redis", "replica", "clock"] as const satisfies readonly CheckName[];
type ReportedCheck = (typeof reportedChecks)[number];

interface Report {
  readonly detail: string;
  readonly fix: string;
  readonly status?: "warning" | "failure";
}

/** What the parts of this process have noticed themselves, so that `/readyz` has it at once. */
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
