import type { Database } from "../../db/database.ts";
import type { LiveEndpoint } from "../endpoints/endpoints.ts";
import { findOrphans, type OrphanRow, releaseAllBut } from "../queue/due-queries.ts";
import {
  beatWorker,
  type Crew,
  forgetWorker,
  type LaneRow,
  releaseLanes,
  renewLanes,
  takeLanes,
} from "../queue/lane-queries.ts";
import { deletePastLogSizes, listLogSizes, writeLogSizes } from "../queue/log-size-queries.ts";
import { type EndpointHealth, HEALTHY } from "../rules/endpoint-health.ts";
import { dayOf, oldestLogDay } from "../rules/log-days.ts";
import { type Lane, noteSettings, openLane } from "./lane.ts";
import { createInterval, type Interval } from "./turns.ts";

export interface LaneKeeperOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly worker: string;
  readonly clock: () => number;
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

/**
 * Milliseconds between two writings of how much the log has grown. Longer, and a worker that dies forgets more of a day's
 * budget; shorter writes more for a figure that nobody needs to the second.
 */
const LOG_SIZE_INTERVAL_MS = 5_000;

/** Milliseconds between two looks for sizes of days whose log is dropped. */
const PAST_SIZES_INTERVAL_MS = 3_600_000;

/** Orphans looked for at a time. */
const ORPHANS = 500;

/** Holds a worker's share of a system's lanes. */
export class LaneKeeper {
  readonly #options: LaneKeeperOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #sizesWriting: Interval;
  readonly #sizesDeleting: Interval;

  constructor(options: LaneKeeperOptions) {
    this.#options = options;
    const { monotonic } = options;
    this.#sizesWriting = createInterval(LOG_SIZE_INTERVAL_MS, () => this.#writeSizes(this.#lanes.values()), monotonic);
    this.#sizesDeleting = createInterval(PAST_SIZES_INTERVAL_MS, () => this.#deletePastSizes(), monotonic);
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  /** Says that the worker lives, holds what it has, takes what is free, and leaves what others should have. */
  async keep(endpoints: ReadonlyMap<string, LiveEndpoint>): Promise<void> {
    const { db, systemId, worker, times } = this.#options;
    const share = shareOf(await beatWorker(db, systemId, worker, times.alive));
    await this.#renew();
    for (const lane of this.#lanes.values()) {
      noteSettings(lane, endpoints.get(lane.endpointId) ?? lane.endpoint);
      if (lane.endpoint.status === "paused" || lane.suspect) await this.#giveBack(lane);
    }
    await this.#leave(share);
    await this.#take(share, endpoints);
    await this.#sizesWriting.pass();
    await this.#sizesDeleting.pass();
  }

  /** Gives all lanes up. */
  async close(): Promise<void> {
    const { db, systemId, worker } = this.#options;
    const mine = [...this.#lanes.values()];
    for (const lane of mine) await this.#giveBack(lane);
    await this.#writeSizes(mine);
    await releaseLanes(db, systemId, mine);
    await forgetWorker(db, systemId, worker);
    this.#lanes.clear();
  }

  async #renew(): Promise<void> {
    const { db, systemId, worker, monotonic, times } = this.#options;
    if (this.#lanes.size === 0) return;
    const from = monotonic();
    const kept = new Set(await renewLanes(db, systemId, worker, [...this.#lanes.values()], times.lease));
    for (const lane of this.#lanes.values()) {
      // The lease is counted from before the database was asked, so that ours never ends after its.
      lane.leasedUntil = kept.has(lane.endpointId) ? from + times.lease : Number.NEGATIVE_INFINITY;
      if (!kept.has(lane.endpointId)) this.#lanes.delete(lane.endpointId);
    }
  }

  async #take(share: number, endpoints: ReadonlyMap<string, LiveEndpoint>): Promise<void> {
    const { db, systemId, worker, monotonic, times } = this.#options;
    const room = share - this.#lanes.size;
    if (room <= 0) return;
    const from = monotonic();
    for (const row of await takeLanes(db, systemId, worker, [...this.#lanes.keys()], room, times.lease)) {
      const endpoint = endpoints.get(row.endpoint_id);
      // Its settings are read a moment later than the lane was made: next time.
      if (endpoint === undefined) await releaseLanes(db, systemId, [{ endpointId: row.endpoint_id, token: row.token }]);
      else await this.#adopt(openLane(row.token, endpoint, healthOf(row), from + times.lease));
    }
  }

  /** What the earlier holder left is cleared up first: its claims would never be ours. */
  async #adopt(lane: Lane): Promise<void> {
    const { db, systemId, clock, onOrphans } = this.#options;
    for (let found = ORPHANS; found === ORPHANS;) {
      const orphans = await findOrphans(db, systemId, lane.endpointId, ORPHANS);
      if (orphans.length > 0) await onOrphans(lane, orphans);
      found = orphans.length;
    }
    const today = dayOf(clock());
    for (const { bytes, answer_bytes } of await listLogSizes(db, systemId, [lane.endpointId], today)) {
      lane.meter.resume(today, { bytes, answerBytes: answer_bytes });
    }
    this.#lanes.set(lane.endpointId, lane);
  }

  /** Lanes beyond the worker's share are given to others, once nothing of theirs is under way. */
  async #leave(share: number): Promise<void> {
    const { db, systemId } = this.#options;
    let surplus = this.#lanes.size - share;
    for (const lane of this.#lanes.values()) lane.leaving = surplus-- > 0;
    const leaving = [...this.#lanes.values()].filter((lane) => lane.leaving);
    for (const lane of leaving) await this.#giveBack(lane);
    const ready = leaving.filter((lane) => lane.known.size === 0);
    if (ready.length === 0) return;
    await this.#writeSizes(ready);
    await releaseLanes(db, systemId, ready);
    for (const lane of ready) this.#lanes.delete(lane.endpointId);
  }

  /** Writes how much the log has grown. */
  async #writeSizes(lanes: Iterable<Lane>): Promise<void> {
    const { db, systemId, clock } = this.#options;
    const changed = [...lanes].map((lane) => ({ lane, sizes: lane.meter.changed() })).filter(hasSizes);
    if (changed.length === 0) return;
    const counted = changed.flatMap(({ lane, sizes }) =>
      sizes.map((size) => ({ endpointId: lane.endpointId, token: lane.token, ...size })),
    );
    await writeLogSizes(db, systemId, counted);
    const today = dayOf(clock());
    for (const { lane, sizes } of changed) lane.meter.noteWritten(sizes, today);
  }

  async #deletePastSizes(): Promise<void> {
    const { db, systemId, clock } = this.#options;
    await deletePastLogSizes(db, systemId, oldestLogDay(clock()));
  }

  async #giveBack(lane: Lane): Promise<void> {
    const { db, systemId } = this.#options;
    for (const { delivery_id: id } of lane.queue.splice(0)) {
      lane.known.delete(id);
      lane.suspect = true;
    }
    if (!lane.suspect) return;
    await releaseAllBut(db, systemId, lane, [...lane.known]);
    lane.suspect = false;
  }
}

function hasSizes({ sizes }: { readonly sizes: readonly unknown[] }): boolean {
  return sizes.length > 0;
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
    lastFailedAt: row.last_failed_at?.getTime() ?? null,
    failures: row.failures,
    failedDeliveries: row.failed_deliveries,
    goneAnswers: row.gone_answers,
    goneSince: row.gone_since?.getTime() ?? null,
    warned: row.warned,
  };
}
