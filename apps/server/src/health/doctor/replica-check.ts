import type { Database } from "../../storage/db/database.ts";
import { examineReplica } from "../../storage/replica/service.ts";
import { checked, failure, type Finding, ok, warning } from "../alerts/finding.ts";
import { findSynchronousStandbys } from "./queries.ts";

/** One that takes longer answers no reads anyway. */
const REPLAY_TIMEOUT_MS = 5_000;

/** Whether the replica, if there is one, follows the primary, and whether it may take its part. */
export async function checkReplica(db: Database, replicaUrl: string | undefined): Promise<Finding[]> {
  if (replicaUrl === undefined) return [];
  return [
    ...(await checked("replica", "Start it, or correct DATABASE_REPLICA_URL.", () => judgeReplica(db, replicaUrl))),
    ...(await checked("failover", "Look at the log of PostgreSQL.", () => checkSynchronous(db))),
  ];
}

async function judgeReplica(db: Database, replicaUrl: string): Promise<Finding> {
  switch (await examineReplica(db, replicaUrl, REPLAY_TIMEOUT_MS)) {
    case "current":
      return ok("replica", "it follows the primary");
    case "unused":
      return ok("replica", "it is one; no process has used it yet, so that it is not known whom it follows");
    case "behind":
      return warning(
        "replica",
        `it lags by more than ${REPLAY_TIMEOUT_MS / 1_000} s: the primary answers all reads`,
        "Look whether it streams: select * from pg_stat_wal_receiver, and at its disk and its long statements.",
      );
    case "promoted":
      return failure(
        "replica",
        "it is a primary, and is left out",
        "Name a server that follows the one in DATABASE_URL, or unset DATABASE_REPLICA_URL.",
      );
    case "unrelated":
      return failure(
        "replica",
        "it does not follow the server that DATABASE_URL names, and is left out",
        "Rebuild it from that server, or correct DATABASE_REPLICA_URL.",
      );
  }
}

async function checkSynchronous(db: Database): Promise<Finding> {
  const names = await findSynchronousStandbys(db);
  if (names !== "") return ok("failover", "commits wait for a replica: one that takes over has them");
  return warning(
    "failover",
    "commits wait for no replica: one that takes over may lack the last of them",
    "Patroni: synchronous_mode: true. By hand: alter system set synchronous_standby_names = '*'; select pg_reload_conf(). " +
      "Leave it if this replica never takes over.",
  );
}
