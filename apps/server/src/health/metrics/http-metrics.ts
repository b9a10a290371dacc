import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { RateLimits } from "../../http/rate-limits/rate-limits.ts";
import type { PoolUsage } from "../../storage/db/database.ts";
import { READ_OUTCOMES, type ReadOutcome } from "../../storage/replica/replica-reads.ts";
import type { ReplicaStatus } from "../../storage/replica/replica.ts";
import { countBy } from "./counters.ts";
import { createRequestMetrics, type RequestMetrics } from "./request-metrics.ts";

/** Why a request was refused before an endpoint saw it. */
export type RejectionReason = (typeof REJECTION_REASONS)[number];

const REJECTION_REASONS = [
  "no_credentials",
  "malformed_credentials",
  "unknown_key",
  "revoked_key",
  "suspended_partner",
  "expired_key",
  "too_many_wrong_credentials",
  "insufficient_scope",
  "rate_limited",
  "https_required",
  "key_in_url",
] as const;

const COMPROMISED_IN = ["url", "plain_http"] as const;
const POOLS = ["general", "vital", "filtered"];
/** Seconds. A free connection takes a tenth of a millisecond, a new one some milliseconds; after 5 s it is given up. */
const WAIT_BUCKETS = [0.001, 0.01, 0.05, 0.25, 1, 5];
const READ_REJECTIONS = ["full", "slow"] as const;

/** Counts what a process that answers requests does with them. */
export interface HttpMetrics extends ReplicaMetrics {
  /** Undefined: nothing is counted. */
  readonly requests: RequestMetrics | undefined;
  /** A connection of a pool was waited for. */
  readonly connectionWaited: (pool: string, seconds: number) => void;
  readonly refused: (reason: RejectionReason) => void;
  readonly compromised: (where: (typeof COMPROMISED_IN)[number]) => void;
  /** A filtered list was refused: no place was free in time, or it took too long. */
  readonly filteredReadRejected: (reason: (typeof READ_REJECTIONS)[number]) => void;
  /** Requests that the log left out. */
  readonly unlogged: (requests: number) => void;
  /** Redis could be used until now. */
  readonly redisLost: () => void;
  /** Says where the figures come from that are read at each look. */
  readonly watch: (sources: HttpSources) => void;
}

interface HttpSources {
  /** By the pool's name. */
  readonly pools: Readonly<Record<string, () => PoolUsage>>;
  /** What filtered lists use at present. */
  readonly filteredReads: () => { readonly running: number; readonly waiting: number };
  /** Whether changes made by other processes are heard of. */
  readonly listening: () => boolean;
  readonly rateLimits: Pick<RateLimits, "isExact" | "processes">;
}

/** Adds the metrics of requests to a registry. Reading them costs no statement. */
export function createHttpMetrics(registry: Registry): HttpMetrics {
  const unlogged = new Counter({
    name: "bikeshare_unlogged_requests_total",
    help: "Requests that the request log left out, because there were too many or it could not be written.",
    registers: [registry],
  });
  const redisLosses = new Counter({
    name: "bikeshare_redis_losses_total",
    help: "Times that Redis could not be used any more.",
    registers: [registry],
  });
  return {
    requests: createRequestMetrics(),
    connectionWaited: measureWaits(registry),
    ...createReplicaMetrics(registry),
    unlogged: (requests) => unlogged.inc(requests),
    redisLost: () => redisLosses.inc(),
    refused: countBy(
      registry,
      "http_refused_requests_total",
      "Requests refused before an endpoint saw them.",
      "reason",
      REJECTION_REASONS,
    ),
    compromised: countBy(
      registry,
      "compromised_keys_total",
      "Keys first seen where others may have read them.",
      "where",
      COMPROMISED_IN,
    ),
    filteredReadRejected: countBy(
      registry,
      "filtered_reads_refused_total",
      "Filtered lists answered 503.",
      "reason",
      READ_REJECTIONS,
    ),
    watch: (sources) => {
      registerSources([registry], sources);
      registerRateLimits([registry], sources.rateLimits);
    },
  };
}

function measureWaits(registry: Registry): HttpMetrics["connectionWaited"] {
  const waits = new Histogram({
    name: "bikeshare_database_wait_seconds",
    help: "Time that callers waited for a connection to the database.",
    labelNames: ["pool"],
    buckets: WAIT_BUCKETS,
    registers: [registry],
  });
  for (const pool of POOLS) waits.zero({ pool });
  return (pool, seconds) => waits.observe({ pool }, seconds);
}

function registerSources(registers: Registry[], { pools, filteredReads, listening }: HttpSources): void {
  new Gauge({
    name: "bikeshare_database_connections",
    help: "Connections to the database, by what they are for.",
    labelNames: ["pool", "state"],
    registers,
    collect() {
      for (const [pool, usage] of Object.entries(pools)) {
        const { inUse, idle } = usage();
        this.set({ pool, state: "in_use" }, inUse);
        this.set({ pool, state: "idle" }, idle);
      }
    },
  });
  new Gauge({
    name: "bikeshare_database_waiting",
    help: "Callers that wait for a connection to the database.",
    labelNames: ["pool"],
    registers,
    collect() {
      for (const [pool, usage] of Object.entries(pools)) this.set({ pool }, usage().waiting);
    },
  });
  new Gauge({
    name: "bikeshare_filtered_reads",
    help: "Filtered lists that are read now, or wait for a place.",
    labelNames: ["state"],
    registers,
    collect() {
      const { running, waiting } = filteredReads();
      this.set({ state: "running" }, running);
      this.set({ state: "waiting" }, waiting);
    },
  });
  new Gauge({
    name: "bikeshare_listening",
    help: "Whether notifications of other processes arrive: 1, or 0 while every request looks its key up.",
    registers,
    collect() {
      this.set(listening() ? 1 : 0);
    },
  });
}

function registerRateLimits(registers: Registry[], rateLimits: HttpSources["rateLimits"]): void {
  new Gauge({
    name: "bikeshare_rate_limit_exact",
    help: "Whether rate limits hold over all processes: 1, or 0 while each process counts by itself.",
    registers,
    collect() {
      this.set(rateLimits.isExact() ? 1 : 0);
    },
  });
  new Gauge({
    name: "bikeshare_api_processes",
    help: "Processes that answer requests on the same database.",
    registers,
    collect() {
      this.set(rateLimits.processes());
    },
  });
}

/** Counts what a process does with its replica. Without one it counts nothing, and shows no metric. */
interface ReplicaMetrics {
  readonly replicaRead: (outcome: ReadOutcome) => void;
  /** Registers the metrics of a replica. @param status returns its current status */
  readonly watchReplica: (status: () => ReplicaStatus) => void;
}

/** Registers the metrics of the replica once the process has a replica. Reading them runs no SQL. */
function createReplicaMetrics(registry: Registry): ReplicaMetrics {
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
        help: "Greatest age of what the replica shows.",
        registers: [registry],
        collect() {
          this.set(status().lagMs / 1_000);
        },
      });
    },
  };
}
