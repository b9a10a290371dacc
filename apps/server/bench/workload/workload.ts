import { createRandom } from "@bikeshare/simulator";
import { type ClientOptions, runHolder, runReader, runRider } from "./clients.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import type { PreparedSystem } from "./prepare.ts";
import { createRequests } from "./requests.ts";

/*
 * Load with a memory, for tests that break things: what was acknowledged must be there at the end, and what happened must
 * have reached the receivers. The order of use:
 *
 *   const receiver = await startReceiver();
 *   const system = await prepareSystem({ databaseUrl, secretsFile, receiver, riders, holders });
 *   // Start the services, with WEBHOOK_ALLOW_NETWORKS=127.0.0.0/8 and WEBHOOK_ALLOW_PORTS=1-65535.
 *   const workload = startWorkload({ base: () => balancer.url, system, riders, holders, readers, requestsPerSecond, seed });
 *   // Break things; workload.ledger.requests.untilServed() says how long reads and writes were away.
 *   await workload.stop();
 *   const report = await verifyWorkload({ base, system, ledger: workload.ledger, receiver });
 *   // Then `bikeshare check`.
 *
 * report.failures is empty where nothing acknowledged was lost, nothing was done twice, every answer was right and every
 * event arrived. ledger.requests.figures has the errors by kind, the gaps and the slowest attempt; report has the delays of
 * deliveries and how many came twice.
 */

export interface WorkloadOptions {
  /** Asked before each attempt: the address of a service or of a load balancer. */
  readonly base: () => string;
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
  const { base, system, riders, holders, readers, requestsPerSecond, expiringShare = 0, seed } = options;
  const { operatorKey, partnerKeys, riderBikes, riderStations, holderStations } = system;
  const ledger = options.ledger ?? createLedger(createRequests(base));
  const over = new AbortController();
  const common = {
    operatorKey,
    expiringShare,
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
