import { type ChangeWatch, createChangeWatch } from "../../city/changes/service.ts";
import type { HttpMetrics } from "../../health/metrics/http-metrics.ts";
import type { Ids } from "../../ids.ts";
import { FILTERED_CONNECTIONS, FILTERED_SESSION_OPTIONS, type RequestConnections } from "../db/connections.ts";
import type { Database } from "../db/database.ts";
import type { StatementObserver } from "../db/statement-observer.ts";
import { createFilteredReads, FILTERED_STATEMENT_TIMEOUT_MS, type ReadContext } from "../lists/read-context.ts";
import { createReplicaReads } from "./replica-reads.ts";
import { openReplica, type ReplicaStatus } from "./replica.ts";

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
  const filteredOn = (run: Parameters<typeof createFilteredReads>[0]["run"]) =>
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
