/** What is wrong with PostgreSQL, and with the processes that share it. */
import type { Config } from "../../config.ts";
import { countApiProcesses } from "../../http/rate-limits/service.ts";
import type { Database } from "../../storage/db/database.ts";
import { dailyTables, dayOf, firstDayOf } from "../../storage/partitions/partition.rules.ts";
import { partitionedDays } from "../../storage/partitions/service.ts";
import {
  databaseHealth,
  findIsCommitWaiting,
  findServerUse,
  listLongTransactions,
  listMissingReplicas,
} from "../database-health/service.ts";
import { type CheckResult, failure, ok, thresholds, warning } from "./check.ts";

const GB = 1e9;

export async function checkDatabaseSize(
  db: Database,
  { databaseSizeLimitGb: limit }: Pick<Config, "databaseSizeLimitGb">,
): Promise<CheckResult> {
  const name = "database size";
  const size = (await findServerUse(db)).size_bytes / GB;
  if (limit === undefined) return ok(name, `${size.toFixed(1)} GB; DATABASE_SIZE_LIMIT_GB is not set`);
  const detail = `the database has ${size.toFixed(1)} of the ${limit} GB that it may have`;
  const fix =
    "Enlarge its disk and DATABASE_SIZE_LIMIT_GB, or undo imports that nobody needs: `bikeshare import list`.";
  if (size > limit * thresholds.databaseSize.failure) return failure(name, detail, fix);
  return size > limit * thresholds.databaseSize.warning ? warning(name, detail, fix) : ok(name, detail);
}

export async function checkConnections(db: Database): Promise<CheckResult> {
  const { connections, max_connections: max } = await findServerUse(db);
  const detail = `${connections} of the ${max} connections of PostgreSQL are in use`;
  if (connections <= max * thresholds.connections) return ok("connections in use", detail);
  return warning("connections in use", detail, "Raise max_connections, or stop what holds them: pg_stat_activity.");
}

export async function checkTransactions(
  db: Database,
  longMs: number = thresholds.transactionMs,
): Promise<readonly CheckResult[]> {
  const open = await listLongTransactions(db, Math.round(longMs / 1_000));
  if (open.length === 0) return [ok("long transactions", "none")];
  return open.map(({ pid, seconds, program }) =>
    warning(
      "long transactions",
      `${program || "a connection"} (pid ${pid}) has had a transaction open for ${Math.round(seconds / 60)} min: deleted rows keep their space`,
      `Unless it is an import or a backup: select pg_terminate_backend(${pid})`,
      { subject: `${pid}` },
    ),
  );
}

/** Replicas that have left, that lag, or for which commits wait. */
export async function checkReplicas(db: Database): Promise<readonly CheckResult[]> {
  const name = "replicas";
  const found = (await listMissingReplicas(db)).map(({ name: slot, kept_bytes: bytes }) =>
    failure(
      name,
      `no replica uses the slot ${slot}, for which ${(bytes / GB).toFixed(1)} GB of WAL are kept`,
      `Start the replica again; if it is gone for good: select pg_drop_replication_slot('${slot}')`,
      { subject: slot },
    ),
  );
  for (const { replica, lag_seconds: seconds } of (await databaseHealth(db)).replicas) {
    if (seconds * 1_000 <= thresholds.replicaLagMs) continue;
    const fix = "Look at its processor, its disk and its long statements, and at the network to it.";
    found.push(warning(name, `${replica} is ${Math.round(seconds)} s behind`, fix, { subject: replica }));
  }
  if (await findIsCommitWaiting(db)) {
    const detail = "synchronous_standby_names asks for a replica and none is there: each commit waits for ever";
    const fix = "Start the replica, or empty synchronous_standby_names and reload.";
    found.push(failure(name, detail, fix, { subject: "synchronous" }));
  }
  return found.length === 0 ? [ok(name, "none is missing or late")] : found;
}

export async function checkRateLimit(db: Database, { redisUrl }: Pick<Config, "redisUrl">): Promise<CheckResult> {
  const n = await countApiProcesses(db);
  if (n > 1 && redisUrl === undefined) {
    return warning(
      "rate limit",
      `${n} processes answer requests, and each counts by itself`,
      "Set REDIS_URL on all of them.",
    );
  }
  return ok("rate limit", n > 1 ? `counted for ${n} processes together` : "counted by the one process");
}

export async function checkPartitions(db: Database, now: number): Promise<CheckResult> {
  const today = dayOf(now);
  const missing: string[] = [];
  for (const table of dailyTables)
    if (table.hasDefault && !(await partitionedDays(db, table)).includes(firstDayOf(table, today)))
      missing.push(table.name);
  if (missing.length === 0) return ok("partitions", "today's are there");
  return warning(
    "partitions",
    `today's are missing of ${missing.join(", ")}`,
    "Start `serve --role worker`, which makes them.",
  );
}
