import { createRandom } from "@bikeshare/simulator";
import { type ClientOptions, runHolder, runReader, runRider } from "./clients.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createRequests } from "./requests.ts";

/*
 * A load whose clients remember every acknowledged write, for tests that break parts of the service. At the end all
 * acknowledged writes must be stored, and all events must have reached the receivers. A test starts the service and this
 * workload, breaks something, calls `stop`, lets `verifyWorkload` compare, and lets `bikeshare check` examine the data.
 * `ledger.requests` has the failures that callers noticed.
 */

/** A system that is prepared for a workload. */
export interface PreparedSystem {
  readonly operatorKey: string;
  readonly partnerKeys: readonly string[];
  /**
   * The stations where riders ride are separate from those where partners reserve, so that they do not compete for
   * bikes.
   */
  readonly riderStations: readonly [string, ...string[]];
  readonly holderStations: readonly [string, ...string[]];
  /** The bikes for riders: each rider has one. */
  readonly riderBikes: readonly string[];
}

export interface WorkloadOptions {
  /** The address of a service or of a load balancer. */
  readonly base: string;
  readonly system: PreparedSystem;
  /** Clients that ride, each with its own bike: at most as many as the system was prepared for. */
  readonly riders: number;
  /** Clients that reserve bikes. */
  readonly holders: number;
  /** Clients that read lists. */
  readonly readers: number;
  /**
   * Requests of all clients while everything works. A client waits for its answer, so a slow service receives fewer.
   */
  readonly requestsPerSecond: number;
  /**
   * The share of reservations that clients let expire, from 0 to 1. Above 0, the verification waits for them, which
   * takes a minute.
   */
  readonly expiringShare?: number;
  /** The share of the others that a ride fulfils: 0.3 by default. The rest is cancelled. */
  readonly fulfilledShare?: number;
  readonly seed: number;
  /** The ledger of an earlier workload on the system, or one with the caller's own requests. */
  readonly ledger?: Ledger;
  /** Prefix of the clients' names when another workload uses the system. */
  readonly prefix?: string;
}

/** Running clients. */
export interface Workload {
  readonly ledger: Ledger;
  /** Stops the clients after their last request is answered, which needs a working service. */
  stop(): Promise<void>;
}

/** Starts the clients. */
export function startWorkload(options: WorkloadOptions): Workload {
  const { base, system, riders, holders, readers, requestsPerSecond, seed } = options;
  const { expiringShare = 0, fulfilledShare = 0.3 } = options;
  const { operatorKey, partnerKeys, riderBikes, riderStations, holderStations } = system;
  const ledger = options.ledger ?? createLedger(createRequests(base));
  const over = new AbortController();
  const common = {
    operatorKey,
    expiringShare,
    fulfilledShare,
    meanPauseMs: ((riders + holders + readers) * 1000) / requestsPerSecond,
    ledger,
    signal: over.signal,
  };
  let started = 0;
  const client = (kind: string, stationIds: ClientOptions["stationIds"]): ClientOptions => {
    const n = started++;
    const partner = n % partnerKeys.length;
    const own = {
      name: `${options.prefix ?? ""}${kind}-${n}`,
      random: createRandom(seed + n),
      partner,
      partnerKey: partnerKeys[partner] ?? "",
    };
    return { ...common, ...own, stationIds };
  };
  const running = [
    ...riderBikes.slice(0, riders).map((bikeId) => runRider(client("rider", riderStations), bikeId)),
    ...Array.from({ length: holders }, () => runHolder(client("holder", holderStations))),
    ...Array.from({ length: readers }, () => runReader(client("reader", riderStations))),
  ];
  return {
    ledger,
    async stop() {
      over.abort();
      await Promise.all(running);
    },
  };
}
