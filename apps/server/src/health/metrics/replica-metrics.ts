import { Gauge, type Registry } from "prom-client";
import { READ_OUTCOMES, type ReadOutcome } from "../../storage/replica/replica-reads.ts";
import type { ReplicaStatus } from "../../storage/replica/replica.ts";
import { countBy } from "./counters.ts";

/** Counts what a process does with its replica. Without one it counts nothing, and shows no metric. */
export interface ReplicaMetrics {
  readonly replicaRead: (outcome: ReadOutcome) => void;
  /** Says that there is a replica, and where its status comes from. */
  readonly watchReplica: (status: () => ReplicaStatus) => void;
}

/** Adds the metrics of a replica to a registry as soon as there is one. Reading them costs no statement. */
export function createReplicaMetrics(registry: Registry): ReplicaMetrics {
  let count: (outcome: ReadOutcome) => void = () => undefined;
  return {
    replicaRead: (outcome) => count(outcome),
    watchReplica: (status) => {
      count = countBy(
        registry,
        "replica_reads_total",
        "Reads that may go to the replica, by what became of them there.",
        "outcome",
        READ_OUTCOMES,
      );
      new Gauge({
        name: "bikeshare_replica_used",
        help: "Whether reads go to the replica: 1, or 0 while it is left out.",
        registers: [registry],
        collect() {
          this.set(status().leftOut === undefined ? 1 : 0);
        },
      });
      new Gauge({
        name: "bikeshare_replica_lag_seconds",
        help: "How old what the replica shows is at most.",
        registers: [registry],
        collect() {
          this.set(status().lagMs / 1_000);
        },
      });
    },
  };
}
