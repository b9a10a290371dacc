import { createRandom } from "@bikeshare/simulator";
import { type ClientOptions, runHolder, runReader, runRider } from "./clients.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { createRequests } from "./requests.ts";

/*
 * Load with a memory, for what breaks things: what was acknowledged must be there at the end, and what happened must have
 * reached the receivers. Start it once the system is prepared and served, break things, `stop` it, and let
 * `verifyWorkload` compare; then let `bikeshare check` look at the data. `ledger.requests` says what callers noticed.
 */

/** A system that a workload can run on. */
export interface PreparedSystem {
  readonly operatorKey: string;
  readonly partnerKeys: readonly string[];
  /** Where riders ride, and where partners reserve: apart, so that nobody takes the other's bikes. */
  readonly riderStations: readonly [string, ...string[]];
  readonly holderStations: readonly [string, ...string[]];
  /** One for each rider. */
  readonly riderBikes: readonly string[];
}

export interface WorkloadOptions {
  /** The address of a service or of a load balancer. */
  readonly base: string;
  readonly system: PreparedSystem;
  /** Clients that ride, each a bike of its own; as many as the system was prepared for, at most. */
  readonly riders: number;
  /** Clients that reserve. */
  readonly holders: number;
  /** Clients that read lists. */
  readonly readers: number;
  /** Of all clients together, while nothing is broken. A client waits for its answer, so that a slow service gets fewer. */
  readonly requestsPerSecond: number;
  /** The share of reservations that are left to expire, from 0 to 1. Above 0 the verification waits for them: a minute. */
  readonly expiringShare?: number;
  /** The share of the others that a ride fulfils: 0.3 by default. The rest is cancelled. */
  readonly fulfilledShare?: number;
  readonly seed: number;
  /** Of a workload before it on the same system, whose promises count as well, or with requests of the caller's own. */
  readonly ledger?: Ledger;
  /** Where there is another workload on the same system: what the names of this one's clients begin with. */
  readonly prefix?: string;
}

export interface Workload {
  readonly ledger: Ledger;
  /** Ends the clients, each when its last request is answered: the service must be there. */
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
