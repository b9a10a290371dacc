import type { Queryable } from "../../storage/db/database.ts";
import { findServerUse, listReplicaLags, type ReplicaLag, type ServerUse } from "./queries.ts";

export { findIsCommitWaiting, findServerUse, listLongTransactions, listMissingReplicas } from "./queries.ts";

/** Figures that PostgreSQL reports of itself and of its replicas. */
export interface DatabaseHealth extends ServerUse {
  readonly replicas: readonly ReplicaLag[];
}

/** Maximum replicas that are shown. Each is a series of the metrics. */
const MAX_REPLICAS = 10;

export async function databaseHealth(db: Queryable): Promise<DatabaseHealth> {
  return { ...(await findServerUse(db)), replicas: await listReplicaLags(db, MAX_REPLICAS) };
}
