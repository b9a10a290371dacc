import { IntervalTask } from "../../storage/background/interval-task.ts";
import type { Database } from "../../storage/db/database.ts";
import { dayOf, oldestKept } from "../../storage/partitions/partition.rules.ts";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import { listOrphans, type OrphanRow, updateClaimsReleased } from "../queue/claim-queries.ts";
import {
  claimLanes,
  deleteWorker,
  type HealthRow,
  type Membership,
  updateHeartbeat,
  updateLanesReleased,
  updateLeases,
} from "../queue/lane-queries.ts";
import { deletePastLogSizes, insertLogSizes, listLogSizes } from "../queue/log-size-queries.ts";
import { type EndpointHealth, HEALTHY } from "../rules/endpoint-health.ts";
import { applySettings, createLane, type Lane } from "./lane.ts";

export interface LaneKeeperOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly worker: string;
  readonly clock: () => number;
  readonly monotonic: () => number;
  readonly timeouts: LeaseTimeouts;
  /** Called with deliveries that an earlier holder of a lane had claimed and wrote no result of. */
  readonly onOrphans: (lane: Lane, orphans: readonly OrphanRow[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export interface LeaseTimeouts {
  /**
   * For how long a lane is leased without a renewal. It must be longer than an attempt may take; longer delays the
   * deliveries of a worker that died.
   */
  readonly leaseMs: number;
  /** For how long a worker counts as alive after its last heartbeat. */
  readonly aliveMs: number;
}

export const LEASE_TIMEOUTS: LeaseTimeouts = { leaseMs: 25_000, aliveMs: 5_000 };

/**
 * Milliseconds between two writes of the log's size. Too high: when a worker dies, more of a day's budget is forgotten. Too
 * low: writes an imprecise figure more often than needed.
 */
const LOG_SIZE_INTERVAL_MS = 5_000;
/** Milliseconds between two deletions of the sizes of days whose log is dropped. */
const PAST_SIZES_INTERVAL_MS = 3_600_000;
/** Orphans written in one transaction. */
const ORPHAN_BATCH = 500;

/** Leases a worker's share of a system's lanes: the membership of workers, leases, orphans and releases. */
export class LaneKeeper {
  readonly #options: LaneKeeperOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #writingSizes: IntervalTask;
  readonly #deletingSizes: IntervalTask;

  constructor(options: LaneKeeperOptions) {
    this.#options = options;
    const { monotonic } = options;
    const writeSizes = () => this.#writeSizes(this.#lanes.values());
    this.#writingSizes = new IntervalTask(LOG_SIZE_INTERVAL_MS, writeSizes, monotonic);
    this.#deletingSizes = new IntervalTask(PAST_SIZES_INTERVAL_MS, () => this.#deletePastSizes(), monotonic);
  }

  get lanes(): ReadonlyMap<string, Lane> {
    return this.#lanes;
  }

  /** Sends the worker's heartbeat, renews its leases, claims lanes that are free, and drains those above its share. */
  async maintain(endpoints: ReadonlyMap<string, DispatchEndpoint>): Promise<void> {
    const { db, systemId, worker, timeouts } = this.#options;
    const share = shareOf(await updateHeartbeat(db, systemId, worker, timeouts.aliveMs));
    await this.#renewLeases();
    for (const lane of this.#lanes.values()) {
      applySettings(lane, endpoints.get(lane.endpointId) ?? lane.endpoint);
      if (lane.endpoint.status === "paused" || lane.mustRelease) await this.#releaseClaims(lane);
    }
    await this.#drainSurplus(share);
    await this.#claimFree(share, endpoints);
    await this.#writingSizes.runIfDue();
    await this.#deletingSizes.runIfDue();
  }

  /** Releases all lanes. */
  async close(): Promise<void> {
    const { db, systemId, worker } = this.#options;
    const mine = [...this.#lanes.values()];
    for (const lane of mine) await this.#releaseClaims(lane);
    await this.#writeSizes(mine);
    await updateLanesReleased(db, systemId, mine);
    await deleteWorker(db, systemId, worker);
    this.#lanes.clear();
  }

  async #renewLeases(): Promise<void> {
    const { db, systemId, worker, monotonic, timeouts } = this.#options;
    if (this.#lanes.size === 0) return;
    const from = monotonic();
    const renewed = new Set(await updateLeases(db, systemId, worker, [...this.#lanes.values()], timeouts.leaseMs));
    for (const lane of this.#lanes.values()) {
      const isRenewed = renewed.has(lane.endpointId);
      // Counted from before the statement, so that our lease never ends after the database's.
      lane.leasedUntil = isRenewed ? from + timeouts.leaseMs : Number.NEGATIVE_INFINITY;
      if (!isRenewed) this.#lanes.delete(lane.endpointId);
    }
  }

  async #claimFree(share: number, endpoints: ReadonlyMap<string, DispatchEndpoint>): Promise<void> {
    const { db, systemId, worker, monotonic, timeouts, onError } = this.#options;
    const missing = share - this.#lanes.size;
    if (missing <= 0) return;
    const from = monotonic();
    const claimed = await claimLanes(db, systemId, worker, [...this.#lanes.keys()], missing, timeouts.leaseMs);
    for (const row of claimed) {
      const { endpoint_id: endpointId, token } = row;
      const endpoint = endpoints.get(endpointId);
      // An endpoint that was made after the settings were loaded: next time.
      if (endpoint === undefined) await updateLanesReleased(db, systemId, [{ endpointId, token }]);
      // One that cannot be adopted now is leased again once its lease is over; the others are not kept from it.
      else await this.#adopt(createLane(token, endpoint, healthOf(row), from + timeouts.leaseMs)).catch(onError);
    }
  }

  /** Writes a result for each delivery that the earlier holder had claimed: this holder never claims those. */
  async #adopt(lane: Lane): Promise<void> {
    const { db, systemId, clock, onOrphans } = this.#options;
    for (let found = ORPHAN_BATCH; found === ORPHAN_BATCH;) {
      const orphans = await listOrphans(db, systemId, lane.endpointId, ORPHAN_BATCH);
      if (orphans.length > 0) await onOrphans(lane, orphans);
      found = orphans.length;
    }
    const today = dayOf(clock());
    for (const { bytes, answer_bytes } of await listLogSizes(db, systemId, [lane.endpointId], today)) {
      lane.logMeter.resume(today, { bytes, answerBytes: answer_bytes });
    }
    this.#lanes.set(lane.endpointId, lane);
  }

  /** Lanes above the worker's share are released to others, once none of their claims is unwritten. */
  async #drainSurplus(share: number): Promise<void> {
    const { db, systemId } = this.#options;
    let surplus = this.#lanes.size - share;
    for (const lane of this.#lanes.values()) lane.draining = surplus-- > 0;
    const draining = [...this.#lanes.values()].filter((lane) => lane.draining);
    for (const lane of draining) await this.#releaseClaims(lane);
    const drained = draining.filter((lane) => lane.unwritten.size === 0);
    if (drained.length === 0) return;
    await this.#writeSizes(drained);
    await updateLanesReleased(db, systemId, drained);
    for (const lane of drained) this.#lanes.delete(lane.endpointId);
  }

  /** Writes how much the log has grown. */
  async #writeSizes(lanes: Iterable<Lane>): Promise<void> {
    const { db, systemId, clock } = this.#options;
    const changed = [...lanes]
      .map((lane) => ({ lane, sizes: lane.logMeter.changed() }))
      .filter(({ sizes }) => sizes.length > 0);
    if (changed.length === 0) return;
    const counted = changed.flatMap(({ lane, sizes }) =>
      sizes.map((size) => ({ endpointId: lane.endpointId, token: lane.token, ...size })),
    );
    await insertLogSizes(db, systemId, counted);
    const today = dayOf(clock());
    for (const { lane, sizes } of changed) lane.logMeter.noteWritten(sizes, today);
  }

  async #deletePastSizes(): Promise<void> {
    const { db, systemId, clock } = this.#options;
    await deletePastLogSizes(db, systemId, oldestKept(dayOf(clock())));
  }

  /** Releases the ready deliveries and those that `mustRelease` accepts. */
  async #releaseClaims(lane: Lane): Promise<void> {
    const { db, systemId } = this.#options;
    for (const { delivery_id: id } of lane.ready.splice(0)) {
      lane.unwritten.delete(id);
      lane.mustRelease = true;
    }
    if (!lane.mustRelease) return;
    await updateClaimsReleased(db, systemId, lane, [...lane.unwritten]);
    lane.mustRelease = false;
  }
}

/** Returns how many lanes a worker should lease: the shares of all workers differ by one at most, and add up to all lanes. */
function shareOf({ workers, before, lanes }: Membership): number {
  const divisor = Math.max(1, workers);
  return Math.floor(lanes / divisor) + (before < lanes % divisor ? 1 : 0);
}

/** Returns an endpoint's health as a lane's row has it. */
function healthOf(row: HealthRow): EndpointHealth {
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

/** The same for writing it. */
export function healthRowOf(health: EndpointHealth): HealthRow {
  return {
    failing_since: dateOf(health.failingSince),
    last_failed_at: dateOf(health.lastFailedAt),
    failures: health.failures,
    failed_deliveries: health.failedDeliveries,
    gone_answers: health.goneAnswers,
    gone_since: dateOf(health.goneSince),
    warned: health.warned,
  };
}

function dateOf(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}
