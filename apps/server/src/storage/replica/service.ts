import { setTimeout as sleep } from "node:timers/promises";
import { type ChangeWatch, createChangeWatch } from "../../city/changes/service.ts";
import type { ProcessReports } from "../../health/checks/stored-checks.ts";
import type { Conditions } from "../../health/conditions/conditions.ts";
import type { HttpMetrics } from "../../health/metrics/http-metrics.ts";
import type { Ids } from "../../ids.ts";
import { FILTERED_CONNECTIONS, FILTERED_SESSION_OPTIONS, type RequestConnections } from "../db/connections.ts";
import { type Database, openDatabase, type QueryRunner } from "../db/database.ts";
import type { StatementObserver } from "../db/statement.ts";
import {
  createFilteredReads,
  FILTERED_STATEMENT_TIMEOUT_MS,
  type ReadContext,
  type RunFiltered,
} from "../lists/read-context.ts";
import { findReplayedPosition, findWrittenPosition } from "./queries.ts";
import { judge, type Verdict } from "./replica.rules.ts";
import { createReplicaReads, openReplica, type ReplicaStatus } from "./replica.ts";

/*
 * Opens the readers of lists, on a replica if one is configured; judges a replica for `bikeshare doctor`; and reports a
 * replica that is left out. A token marks the primary that a replica follows (replica.rules.ts).
 */

/** Milliseconds between two queries to a replica that has not replayed everything yet. */
const RETRY_INTERVAL_MS = 50;

/**
 * Judges a replica by the primary's present position. Gives the replica up to `timeoutMs` to replay the position.
 * @returns `unused` when no process has written a token yet, so that it is unknown which primary the replica follows
 * @throws when the primary or the replica cannot be queried
 */
export async function examineReplica(
  primary: QueryRunner,
  replicaUrl: string,
  timeoutMs: number,
): Promise<Verdict | "unused"> {
  const replica = openDatabase({ connectionString: replicaUrl, maxConnections: 1, mayBeStandby: true });
  try {
    const written = await findWrittenPosition(primary);
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const replayed = await findReplayedPosition(replica);
      const verdict = judge(replayed, written);
      if (written.token === null && verdict === "unrelated" && replayed.token === null) return "unused";
      if (verdict !== "behind" || performance.now() > deadline) return verdict;
      await sleep(RETRY_INTERVAL_MS);
    }
  } finally {
    await replica.close();
  }
}

type Reason = NonNullable<ReplicaStatus["leftOut"]>["reason"];

/** How long a replica must be left out before it is reported. Too low: reports restarts and bursts of writes. */
const REPORT_AFTER_MS = 5_000;

/** Why the replica is left out, in words for the operator. */
const REASONS: Readonly<Record<Reason, string>> = {
  behind: "it lags",
  promoted: "it is a primary: let DATABASE_REPLICA_URL name a server that follows the one in DATABASE_URL",
  unrelated: "it does not follow the server that DATABASE_URL names: rebuild it from that, or correct the URL",
  unreachable: "it cannot be asked",
  primary: "the primary cannot be asked how far it has written",
};

/** The condition in the log: one line when it begins, one each minute, and one when the replica is used again. */
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

/** A replica that lists and single items may be read from. */
export interface ReplicaSettings {
  readonly url: string;
  /** Receives the status four times a second. */
  readonly onStatus: (status: ReplicaStatus) => void;
}

interface ListReadsOptions {
  readonly db: Database;
  readonly ids: Ids;
  readonly metrics: HttpMetrics;
  readonly activities?: StatementObserver | undefined;
  readonly replica?: ReplicaSettings | undefined;
}

/** Returns the readers of lists and single items: on the primary, or also on a replica if there is one. */
export function openListReads(
  connections: RequestConnections,
  { db, ids, metrics, activities, replica: settings }: ListReadsOptions,
): ReadContext & { readonly changes: ChangeWatch; close(): Promise<void> } {
  const filteredOn = (run: RunFiltered) =>
    createFilteredReads({
      run,
      primary: connections.filtered,
      maxRunning: FILTERED_CONNECTIONS,
      monotonic: () => performance.now(),
      onRefused: (reason) => metrics.filteredReadRejected(reason),
    });
  const { readPool, filtered } = connections;
  const changes = createChangeWatch(readPool);
  if (settings === undefined) {
    return { readPool, filtered: filteredOn((work) => work(filtered)), changes, close: () => Promise.resolve() };
  }
  const replica = openReplica({
    primaryUrl: db.connectionString,
    replicaUrl: settings.url,
    observer: activities,
    filtered: {
      connections: FILTERED_CONNECTIONS,
      sessionOptions: FILTERED_SESSION_OPTIONS,
      statementTimeoutMs: FILTERED_STATEMENT_TIMEOUT_MS,
    },
    newToken: () => Buffer.from(ids.randomBytes(16)).toString("base64url"),
    onStatus: settings.onStatus,
    monotonic: () => performance.now(),
  });
  metrics.watchReplica(replica.status);
  const reads = createReplicaReads({ replica, readPool, filtered, onRead: metrics.replicaRead });
  return { readPool: reads.readPool, filtered: filteredOn(reads.runFiltered), changes, close: () => replica.close() };
}
