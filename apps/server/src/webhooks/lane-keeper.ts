import type { Database } from "../db/database.ts";
import { findOrphans, type OrphanRow, releaseAllBut } from "./due-queries.ts";
import { type EndpointHealth, HEALTHY } from "./endpoint-health.ts";
import type { LiveEndpoint } from "./endpoints.ts";
import { beatWorker, type Crew, forgetWorker, type LaneRow, releaseLanes, renewLanes, takeLanes } from "./lane-queries.ts";
import { type Lane, noteSettings, openLane } from "./lane.ts";

/** Holds a worker's share of a system's lanes. */
export interface LaneKeeper {
  readonly lanes: ReadonlyMap<string, Lane>;
  /** Says that the worker lives, holds what it has, takes what is free, and leaves what others should have. */
  keep(endpoints: ReadonlyMap<string, LiveEndpoint>): Promise<void>;
  /** Gives all lanes up. */
  close(): Promise<void>;
}

export interface LaneKeeperOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly worker: string;
  readonly monotonic: () => number;
  readonly times: LeaseTimes;
  /** What an earlier holder had claimed, and nobody knows what became of. */
  readonly onOrphans: (lane: Lane, orphans: readonly OrphanRow[]) => Promise<void>;
}

export interface LeaseTimes {
  /**
   * Milliseconds for which a lane is held without a renewal. It must be longer than an attempt may take; longer lets the
   * deliveries of a worker that died wait longer.
   */
  readonly lease: number;
  /** Milliseconds for which a worker counts as alive after it last said so. */
  readonly alive: number;
}

export const LEASE_TIMES: LeaseTimes = { lease: 25_000, alive: 5_000 };

/** Orphans looked for at a time. */
const ORPHANS = 500;

export function createLaneKeeper(options: LaneKeeperOptions): LaneKeeper {
  const { db, systemId, worker, monotonic, times } = options;
  const lanes = new Map<string, Lane>();

  async function renew(): Promise<void> {
    if (lanes.size === 0) return;
    const from = monotonic();
    const kept = new Set(await renewLanes(db, systemId, worker, [...lanes.values()], times.lease));
    for (const lane of lanes.values()) {
      // The lease is counted from before the database was asked, so that ours never ends after its.
      lane.leasedUntil = kept.has(lane.endpointId) ? from + times.lease : Number.NEGATIVE_INFINITY;
      if (!kept.has(lane.endpointId)) lanes.delete(lane.endpointId);
    }
  }

  async function take(share: number, endpoints: ReadonlyMap<string, LiveEndpoint>): Promise<void> {
    if (lanes.size >= share) return;
    const from = monotonic();
    const taken = await takeLanes(db, systemId, worker, [...lanes.keys()], share - lanes.size, times.lease);
    for (const row of taken) {
      const endpoint = endpoints.get(row.endpoint_id);
      // Its settings are read a moment later than the lane was made: next time.
      if (endpoint === undefined) await releaseLanes(db, systemId, [{ endpointId: row.endpoint_id, token: row.token }]);
      else await adopt(openLane(row.token, endpoint, healthOf(row), from + times.lease));
    }
  }

  /** What the earlier holder left is cleared up first: its claims would never be ours. */
  async function adopt(lane: Lane): Promise<void> {
    for (let found = ORPHANS; found === ORPHANS;) {
      const orphans = await findOrphans(db, systemId, [lane.endpointId], ORPHANS);
      if (orphans.length > 0) await options.onOrphans(lane, orphans);
      found = orphans.length;
    }
    lanes.set(lane.endpointId, lane);
  }

  /** Lanes beyond the worker's share are given to others, once nothing of theirs is under way. */
  async function leave(share: number): Promise<void> {
    let surplus = lanes.size - share;
    for (const lane of lanes.values()) lane.leaving = surplus-- > 0;
    const leaving = [...lanes.values()].filter((lane) => lane.leaving);
    for (const lane of leaving) await giveBack(lane);
    const ready = leaving.filter((lane) => lane.known.size === 0);
    if (ready.length === 0) return;
    await releaseLanes(db, systemId, ready);
    for (const lane of ready) lanes.delete(lane.endpointId);
  }

  async function giveBack(lane: Lane): Promise<void> {
    for (const { delivery_id: id } of lane.queue.splice(0)) {
      lane.known.delete(id);
      lane.suspect = true;
    }
    if (!lane.suspect) return;
    await releaseAllBut(db, systemId, lane, [...lane.known]);
    lane.suspect = false;
  }

  return {
    lanes,
    async keep(endpoints) {
      const share = shareOf(await beatWorker(db, systemId, worker, times.alive));
      await renew();
      for (const lane of lanes.values()) {
        noteSettings(lane, endpoints.get(lane.endpointId) ?? lane.endpoint);
        if (lane.endpoint.status === "paused" || lane.suspect) await giveBack(lane);
      }
      await leave(share);
      await take(share, endpoints);
    },
    async close() {
      const mine = [...lanes.values()];
      for (const lane of mine) await giveBack(lane);
      await releaseLanes(db, systemId, mine);
      await forgetWorker(db, systemId, worker);
      lanes.clear();
    },
  };
}

/** How many lanes a worker should have: the shares of all differ by one at most, and make up all there are. */
function shareOf({ workers, before, lanes }: Crew): number {
  const most = Math.max(1, workers);
  return Math.floor(lanes / most) + (before < lanes % most ? 1 : 0);
}

function healthOf(row: LaneRow): EndpointHealth {
  if (row.failing_since === null) return HEALTHY;
  return {
    failingSince: row.failing_since.getTime(),
    failures: row.failures,
    failedDeliveries: row.failed_deliveries,
    goneDeliveries: row.gone_deliveries,
    warned: row.warned,
  };
}
