import type { ProcessReports } from "../../health/checks/process-reports.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import type { ReplicaStatus } from "./replica.ts";

type Reason = NonNullable<ReplicaStatus["leftOut"]>["reason"];

/** Longer than restarts and bursts of writes, which need no report. */
const REPORT_AFTER_MS = 5_000;

const REASONS: Readonly<Record<Reason, string>> = {
  behind: "it lags",
  promoted: "it is a primary: let DATABASE_REPLICA_URL name a server that follows the one in DATABASE_URL",
  unrelated: "it does not follow the server that DATABASE_URL names: rebuild it from that, or correct the URL",
  unreachable: "it cannot be asked",
  primary: "the primary cannot be asked how far it has written",
};

/** For the log: a line at once, one a minute, and one when the replica is used again. */
class ReplicaLeftOut extends Error {
  override readonly name = "ReplicaLeftOut";
  readonly condition = "replica_left_out";
  readonly sentences = {
    begins: "the replica is left out: the primary answers all reads",
    lasts: "the replica is still left out",
    ends: "the replica answers reads again",
  };
}

/** Reports a replica that has been left out for 5 s: to the log, and in `/readyz`. */
export function createReplicaReport(options: {
  readonly conditions: Conditions;
  readonly reports: ProcessReports;
  readonly monotonic: () => number;
}): (status: ReplicaStatus) => void {
  const { conditions, reports, monotonic } = options;
  const reading = conditions.of("reading from the replica", { level: "warn", quietMs: Number.POSITIVE_INFINITY });
  let leftOutAt: number | undefined;
  return ({ leftOut, lagMs }) => {
    if (leftOut === undefined) {
      leftOutAt = undefined;
      reports.set("replica", undefined);
      reading.succeeded();
      return;
    }
    leftOutAt ??= monotonic();
    if (monotonic() - leftOutAt < REPORT_AFTER_MS) return;
    const reason = explain(leftOut);
    reports.set("replica", {
      status: "warning",
      detail: `the replica is left out, and the primary answers all reads: ${reason}`,
      fix: "`bikeshare doctor` says whether it follows the primary. It is used again by itself once it does.",
    });
    reading.failed(new ReplicaLeftOut(reason), { lag_seconds: Math.round(lagMs / 1_000) });
  };
}

function explain({ reason, detail }: { readonly reason: Reason; readonly detail?: string }): string {
  return detail === undefined ? REASONS[reason] : `${REASONS[reason]} (${detail})`;
}
