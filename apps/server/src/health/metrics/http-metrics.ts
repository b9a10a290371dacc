import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { RateLimits } from "../../http/rate-limits/rate-limits.ts";
import type { PoolUsage } from "../../storage/db/database.ts";
import { READ_OUTCOMES, type ReadOutcome, type ReplicaStatus } from "../../storage/replica/replica.ts";
import { countBy } from "./counters.ts";

/*
 * The metrics of a process's requests, of its database connections and of its replica. Requests are counted without
 * prom-client, which would slow each of them down (`RequestHistogram`); all other metrics are in its registry.
 */

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
/** The pools of database connections: for most work, for key look-ups and health, and for filtered lists. */
const POOLS = ["general", "vital", "filtered"];
/** Seconds. A free connection takes a tenth of a millisecond, a new one some milliseconds; after 5 s it is given up. */
const WAIT_BUCKETS = [0.001, 0.01, 0.05, 0.25, 1, 5];
const READ_REJECTIONS = ["full", "slow"] as const;

/** Counts the requests of a process, and what happens to them. */
export interface HttpMetrics extends ReplicaMetrics {
  /** Undefined: nothing is counted. */
  readonly requests: RequestMetrics | undefined;
  /** A caller waited for a connection of a pool. */
  readonly connectionWaited: (pool: string, seconds: number) => void;
  readonly refused: (reason: RejectionReason) => void;
  readonly compromised: (where: (typeof COMPROMISED_IN)[number]) => void;
  /** A filtered list was refused: no slot was free in time, or it took too long. */
  readonly filteredReadRejected: (reason: (typeof READ_REJECTIONS)[number]) => void;
  /** Requests that the log left out. */
  readonly unlogged: (requests: number) => void;
  /** Redis can no longer be used. */
  readonly redisLost: () => void;
  /** Sets the sources of figures that are read at each scrape. */
  readonly watch: (sources: HttpSources) => void;
}

interface HttpSources {
  /** The use of each pool of connections, by the pool's name. */
  readonly pools: Readonly<Record<string, () => PoolUsage>>;
  /** Filtered lists that run or wait at present. */
  readonly filteredReads: () => { readonly running: number; readonly waiting: number };
  /** Whether notifications of other processes arrive. */
  readonly listening: () => boolean;
  readonly rateLimits: Pick<RateLimits, "isExact" | "processes">;
}

/** Adds the metrics to a registry, except `requests`, which returns its own text. Reading them runs no SQL. */
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

/** Counts nothing until `watchReplica` registers the metrics of a replica. Reading them runs no SQL. */
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

/** A request that was answered. */
interface AnsweredRequest {
  /** Its Request-Id. */
  readonly id: string;
  readonly status: number;
  readonly seconds: number;
  /** The share of its key's rate limit that is in use, from 0 to 1; undefined: it has no such limit. */
  readonly limitUsed: number | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Counts the requests of one route. */
export type CountRequest = (request: AnsweredRequest) => void;

/** The names by which a route is counted: few, and never what a caller has sent. */
export interface CountedRoute {
  readonly interface: "partner" | "mcp" | "operator" | "gbfs" | "console" | "pages" | "none";
  /** The endpoint's name in the contract; of MCP the method and the tool's name; a fixed word for other paths. */
  readonly route: string;
  readonly method: string;
}

/** Counts requests, and how long they took. */
export interface RequestMetrics {
  /**
   * Returns the function that counts requests under these names. To be called once for each `route`, because a look-up
   * at each request would cost more than the count.
   */
  countRoute(route: CountedRoute): CountRequest;
  /**
   * Sets the source of the bytes of all connections since the start.
   * @param read called at each scrape
   */
  watchBytes(read: () => { readonly received: number; readonly sent: number }): void;
  /**
   * Returns the metrics in Prometheus's format.
   * @param withExemplars true: adds exemplars (OpenMetrics): the Request-Id of each bucket's latest request
   */
  text(withExemplars: boolean): string;
}

/**
 * Seconds. A list from memory takes a fifth of a millisecond and one from the database a few, a filtered list is given up
 * after 1.5 s, and a statement after 10 s.
 */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
/** Shares of a key's rate limit. */
const SHARE_BUCKETS = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/** Creates the metrics of requests, which begin at zero. */
function createRequestMetrics(): RequestMetrics {
  const counts = new Map<string, { total: number }>();
  const durations = new Map<string, RequestHistogram>();
  const shares = new RequestHistogram(SHARE_BUCKETS);
  let readBytes = () => ({ received: 0, sent: 0 });

  // `side` is the route's interface: that word is reserved.
  const durationsOf = ({ interface: side, route }: CountedRoute): RequestHistogram => {
    // All endpoints of the console share one set of series. There are over a hundred, for a few people: separate sets would
    // be most of all series.
    const labels = `interface="${side}",route="${side === "console" ? "any" : route}"`;
    const known = durations.get(labels) ?? new RequestHistogram(DURATION_BUCKETS);
    durations.set(labels, known);
    return known;
  };
  const counterOf = ({ interface: side, route, method }: CountedRoute, status: number): { total: number } => {
    const labels = `interface="${side}",route="${route}",method="${method}",status="${status}"`;
    const known = counts.get(labels) ?? { total: 0 };
    counts.set(labels, known);
    return known;
  };
  return {
    countRoute(route) {
      const took = durationsOf(route);
      const byStatus = new Map<number, { total: number }>();
      return (request) => {
        let counter = byStatus.get(request.status);
        if (counter === undefined) byStatus.set(request.status, (counter = counterOf(route, request.status)));
        counter.total++;
        took.observe(request.seconds, request);
        if (request.limitUsed !== undefined) shares.observe(request.limitUsed, request);
      };
    },
    watchBytes(read) {
      readBytes = read;
    },
    text: (withExemplars) =>
      [
        ...family("bikeshare_http_requests_total", "counter", REQUESTS_HELP, (name) =>
          [...counts].map(([labels, { total }]) => `${name}{${labels}} ${total}`),
        ),
        ...family("bikeshare_http_request_duration_seconds", "histogram", DURATION_HELP, (name) =>
          [...durations].flatMap(([labels, histogram]) => histogram.lines(name, labels, withExemplars)),
        ),
        ...family("bikeshare_http_rate_limit_used_ratio", "histogram", SHARE_HELP, (name) =>
          shares.lines(name, "", withExemplars),
        ),
        ...bytesText(readBytes()),
        "",
      ].join("\n"),
  };
}

const REQUESTS_HELP = "Requests answered, by endpoint of the contract and status.";
const DURATION_HELP = "Time from the end of a request's head until its answer was sent.";
const SHARE_HELP = "Share of its key's rate limit that was in use after a request.";

function bytesText({ received, sent }: { readonly received: number; readonly sent: number }): string[] {
  return [
    ...family("bikeshare_http_received_bytes_total", "counter", "Bytes received over all connections.", (name) => [
      `${name} ${received}`,
    ]),
    ...family("bikeshare_http_sent_bytes_total", "counter", "Bytes sent over all connections.", (name) => [
      `${name} ${sent}`,
    ]),
  ];
}

function family(name: string, type: string, help: string, lines: (name: string) => readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(name)];
}

/** The request that an exemplar names. */
interface Observed {
  /** The Request-Id. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

interface Exemplar extends Observed {
  readonly value: number;
}

/** A histogram without prom-client, which looks up its series by a text of all labels at each request. */
class RequestHistogram {
  readonly #bounds: readonly number[];
  /** The observations in each bucket, without those in smaller buckets. The last bucket has no upper bound. */
  readonly #counts: number[];
  readonly #exemplars: (Exemplar | undefined)[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
    this.#exemplars = this.#counts.map(() => undefined);
  }

  observe(value: number, { id, at }: Observed): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] ?? 0)) index++;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#exemplars[index] = { id, value, at };
    this.#sum += value;
  }

  /** @param labels as the format has them, without braces */
  lines(name: string, labels: string, withExemplars: boolean): string[] {
    let total = 0;
    const separator = labels === "" ? "" : ",";
    const buckets = this.#counts.map((count, index) => {
      total += count;
      const bound = this.#bounds[index] ?? "+Inf";
      const line = `${name}_bucket{${labels}${separator}le="${bound}"} ${total}`;
      const exemplar = withExemplars ? this.#exemplars[index] : undefined;
      if (exemplar === undefined) return line;
      return `${line} # {request_id="${exemplar.id}"} ${exemplar.value} ${exemplar.at / 1_000}`;
    });
    const braces = labels === "" ? "" : `{${labels}}`;
    return [...buckets, `${name}_sum${braces} ${this.#sum}`, `${name}_count${braces} ${total}`];
  }
}
