import { IntervalTask } from "../../storage/background/periodic.ts";
import type { Database } from "../../storage/db/database.ts";
import { dayOf, oldestKept } from "../../storage/partitions/partition.rules.ts";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import {
  type ClaimedRow,
  claimLanes,
  type ClaimRequest,
  deleteWorker,
  type HealthRow,
  listOrphans,
  type Membership,
  type OrphanRow,
  updateClaimsReleased,
  updateHeartbeat,
  updateLanesReleased,
  updateLeases,
} from "../queue/lane-queries.ts";
import { deletePastLogSizes, insertLogSizes, listLogSizes } from "../queue/log-size-queries.ts";
import { type EndpointHealth, HEALTHY } from "../rules/after-attempt.ts";
import { LogMeter } from "../rules/log-budget.ts";

/*
 * The lanes that a worker leases: the state of each in memory, what it may claim and send, and its lease. A lane has
 * the deliveries of one endpoint, which one worker at a time sends. A worker claims a queued delivery before it sends
 * it: the claim is the lane's token in the queue's row.
 *
 * `SystemDispatcher` has the loop. It lets `LaneKeeper` lease and release lanes, claims what `claimRequestFor` asks for, and
 * passes the deliveries to `addClaimed`. `AttemptRunner` takes them from `ready`, sends them, and calls `endAttempt`.
 * `ResultWriter` removes them from `unwritten` once their results are written.
 */

/** The state of a lane in the memory of the worker that leases it. webhooks/README.md shows the states as a diagram. */
export interface Lane {
  readonly endpointId: string;
  /** A number that each new lease of the lane increases. The database refuses writes with an earlier one. */
  readonly token: number;
  endpoint: DispatchEndpoint;
  health: EndpointHealth;
  /** Claimed deliveries whose attempts have not begun, regular ones before replays. */
  readonly ready: ClaimedRow[];
  /** Ids of the claimed deliveries whose results are not written yet: ready, in flight, or completed. */
  readonly unwritten: Set<string>;
  inFlight: number;
  /** Attempts that may be in flight at a time, from 1 to MAX_IN_FLIGHT_PER_ENDPOINT. */
  concurrencyLimit: number;
  /**
   * Attempts completed since the last claim. The next claim may take as many deliveries in advance, MAX_CLAIMED_AHEAD at
   * most.
   */
  completedSinceClaim: number;
  /** When the lease ends, in milliseconds of the monotonic clock. */
  leasedUntil: number;
  /** Nothing more is claimed; the lane is released when `unwritten` is empty. */
  draining: boolean;
  /**
   * The database may hold claims under this lane's token that are not in `unwritten`: a response of the database was lost,
   * an attempt could not begin, or a release failed. Nothing is claimed until these claims are released.
   */
  mustRelease: boolean;
  /** Changes of the endpoint's status that the endpoint's responses caused. */
  readonly statusChanges: StatusChanges;
  /** Counts the log size of the endpoint's attempts. */
  readonly logMeter: LogMeter;
  /** Events' deliveries and their retries. */
  readonly regular: QueueCursor;
  /** Deliveries that are sent again on request, after the regular ones. */
  readonly replay: QueueCursor;
}

/**
 * Counts of status changes. While `loaded` is less than `decided`, the status that was loaded from the database is older
 * than the lane's.
 */
interface StatusChanges {
  decided: number;
  written: number;
  /** Written before the settings were last loaded. */
  loaded: number;
}

/** A lane's position in one of its two queues. */
interface QueueCursor {
  /** More deliveries may be due. */
  mayHaveMore: boolean;
  /**
   * Milliseconds since 1970. No deliveries that were due before this time are left, except those that were committed late
   * and those whose claims were released.
   */
  claimFrom: number;
  /**
   * The time of the latest full scan by the monotonic clock, and its duration in milliseconds. A full scan claims from the
   * queue's beginning instead of `claimFrom`, and so finds these exceptions.
   */
  fullScanAt: number;
  fullScanMs: number;
}

/** The name of one of a lane's queues. */
export type QueueName = "regular" | "replay";

/**
 * Limits the deliveries in flight to one endpoint. Too low: slows a distant endpoint down. Too high: overloads a small one.
 */
export const MAX_IN_FLIGHT_PER_ENDPOINT = 10;
/**
 * Deliveries claimed beyond the concurrency limit. Too high: when the process dies, more deliveries are logged as
 * unknown although they were never sent.
 */
const MAX_CLAIMED_AHEAD = 100;
/**
 * Maximum deliveries of a lane whose attempts have started and whose results are not written: those in flight, and as many
 * answered ones. They are sent a second time when the process dies. Too high: more are repeated. Too low: a fast receiver
 * waits for our writes.
 */
const MAX_UNWRITTEN = 2 * MAX_IN_FLIGHT_PER_ENDPOINT;
/**
 * Milliseconds by which a claim overlaps the one before, to find deliveries that were due earlier and committed later. Too
 * high: reads more dead rows. Too low: leaves more to the next full scan.
 */
const CLAIM_OVERLAP_MS = 3_000;
/** Minimum milliseconds between two full scans of a queue. */
const FULL_SCAN_INTERVAL_MS = 2_000;
/** The pause between full scans, as a multiple of the last scan's duration. */
const FULL_SCAN_PAUSE_FACTOR = 20;
/**
 * Milliseconds that a lane must still be leased for when an attempt begins: the 15 s that it may take, and a margin. With
 * less, two processes could be sending to one endpoint.
 */
export const MIN_LEASE_LEFT_MS = 16_000;

/** Returns the lane of a new lease, with nothing claimed yet. @param leasedUntil milliseconds of the monotonic clock */
export function createLane(
  token: number,
  endpoint: DispatchEndpoint,
  health: EndpointHealth,
  leasedUntil: number,
): Lane {
  return {
    endpointId: endpoint.id,
    token,
    endpoint,
    health,
    ready: [],
    unwritten: new Set(),
    inFlight: 0,
    concurrencyLimit: MAX_IN_FLIGHT_PER_ENDPOINT,
    completedSinceClaim: 0,
    leasedUntil,
    draining: false,
    mustRelease: false,
    statusChanges: { decided: 0, written: 0, loaded: 0 },
    logMeter: new LogMeter(),
    regular: createCursor(),
    replay: createCursor(),
  };
}

function createCursor(): QueueCursor {
  return { mayHaveMore: true, claimFrom: 0, fullScanAt: Number.NEGATIVE_INFINITY, fullScanMs: 0 };
}

/**
 * Applies the endpoint's loaded settings. A resumed endpoint, or one with a new address, counts as healthy: its earlier
 * responses say nothing about it now.
 */
export function applySettings(lane: Lane, loaded: DispatchEndpoint): void {
  const { endpoint, statusChanges } = lane;
  lane.endpoint = statusChanges.loaded < statusChanges.decided ? { ...loaded, status: endpoint.status } : loaded;
  const isResumed = endpoint.status === "paused" && lane.endpoint.status !== "paused";
  if (isResumed || loaded.url !== endpoint.url) lane.health = HEALTHY;
}

/** Tells whether the lane may begin an attempt. */
export function canStartAttempt(lane: Lane, monotonic: number): boolean {
  return (
    lane.endpoint.status !== "paused" &&
    lane.inFlight < concurrencyOf(lane) &&
    lane.unwritten.size - lane.ready.length < MAX_UNWRITTEN &&
    lane.leasedUntil - monotonic >= MIN_LEASE_LEFT_MS
  );
}

/** Returns how many deliveries the lane could begin at once in addition to those that are ready. */
export function freeSlotsOf(lane: Lane): number {
  return Math.max(0, Math.floor(concurrencyOf(lane)) - lane.inFlight - lane.ready.length);
}

/** An endpoint that was resumed gets one delivery at a time until it answers with success. */
function concurrencyOf(lane: Lane): number {
  return lane.endpoint.status === "probing" ? 1 : lane.concurrencyLimit;
}

/** Tells whether anything may be claimed for the lane. */
export function canClaim(lane: Lane, monotonic: number): boolean {
  if (lane.draining || lane.mustRelease || lane.endpoint.status === "paused") return false;
  return lane.leasedUntil - monotonic >= MIN_LEASE_LEFT_MS;
}

/**
 * Returns the claim for a lane from one of its queues; undefined: nothing is to be claimed now.
 * @param acceptSmall true: claims also when the lane can take few deliveries
 */
export function claimRequestFor(
  lane: Lane,
  queue: QueueName,
  monotonic: number,
  acceptSmall: boolean,
): ClaimRequest | undefined {
  const cursor = lane[queue];
  if (!cursor.mayHaveMore || !canClaim(lane, monotonic)) return undefined;
  const concurrency = concurrencyOf(lane);
  // Claims in advance as many as the lane has completed since the last claim. A probed endpoint gets one at a time.
  const ahead = lane.endpoint.status === "probing" ? 0 : Math.min(lane.completedSinceClaim, MAX_CLAIMED_AHEAD);
  const taken = queue === "regular" ? countAheadOfRegular(lane) : lane.inFlight + lane.ready.length;
  const capacity = concurrency + ahead - taken;
  // Avoids claims of few deliveries, less than half of the concurrency, because each claim costs a statement.
  const isWorthwhile = capacity >= concurrency / 2 || (capacity > 0 && (acceptSmall || lane.inFlight === 0));
  if (!isWorthwhile) return undefined;
  const pauseMs = Math.max(FULL_SCAN_INTERVAL_MS, FULL_SCAN_PAUSE_FACTOR * cursor.fullScanMs);
  const isFullScan = monotonic - cursor.fullScanAt >= pauseMs;
  const dueFrom = new Date(isFullScan ? 0 : cursor.claimFrom);
  const { endpointId, token, endpoint } = lane;
  return { endpointId, token, limit: Math.floor(capacity), dueFrom, hasHourlyLimit: endpoint.maxPerHour !== null };
}

/**
 * Returns how many deliveries are ahead of the next regular one. While replays are ready, deliveries in flight do not count:
 * a regular delivery is claimed before a slot is free, because otherwise a ready replay would take the slot.
 */
function countAheadOfRegular({ ready, inFlight }: Lane): number {
  const regular = countRegular(ready);
  return regular < ready.length ? regular : regular + inFlight;
}

/**
 * Advances a queue cursor after a claim. `mayHaveMore` was set to false when the claim began.
 * @param span the begin and end of the claim, by the monotonic clock
 */
export function advanceCursor(
  cursor: QueueCursor,
  request: ClaimRequest,
  rows: readonly ClaimedRow[],
  now: number,
  span: { readonly from: number; readonly to: number },
): void {
  const isFull = rows.length >= request.limit;
  // Otherwise `mayHaveMore` stays as it is: a notification may have set it since the claim began.
  if (isFull) cursor.mayHaveMore = true;
  const last = rows.at(-1);
  cursor.claimFrom = (isFull && last !== undefined ? last.due_at.getTime() : now) - CLAIM_OVERLAP_MS;
  if (request.dueFrom.getTime() > 0) return;
  cursor.fullScanAt = span.to;
  cursor.fullScanMs = span.to - span.from;
}

/** Makes claimed deliveries ready, regular ones before replays. */
export function addClaimed(lane: Lane, rows: readonly ClaimedRow[]): void {
  lane.completedSinceClaim = 0;
  // Skips a delivery that is claimed a second time: its result was written, but the database's response was lost. The second
  // claim is released later.
  const fresh = rows.filter((row) => !lane.unwritten.has(row.delivery_id));
  for (const row of fresh) lane.unwritten.add(row.delivery_id);
  const isReplay = fresh[0]?.replay === true;
  lane.ready.splice(isReplay ? lane.ready.length : countRegular(lane.ready), 0, ...fresh);
}

/** Returns how many of the ready deliveries are not replays: they come first. */
function countRegular(ready: readonly ClaimedRow[]): number {
  const firstReplay = ready.findIndex((row) => row.replay);
  return firstReplay === -1 ? ready.length : firstReplay;
}

/**
 * Counts an attempt as ended. A slow one halves the endpoint's concurrency, so that the endpoint occupies few slots of the
 * process. Any other one raises the concurrency by one, up to MAX_IN_FLIGHT_PER_ENDPOINT.
 */
export function endAttempt(lane: Lane, wasSlow: boolean): void {
  lane.inFlight--;
  lane.completedSinceClaim++;
  lane.concurrencyLimit = wasSlow
    ? Math.max(1, Math.floor(lane.concurrencyLimit / 2))
    : Math.min(MAX_IN_FLIGHT_PER_ENDPOINT, lane.concurrencyLimit + 1);
}

interface LaneKeeperOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly worker: string;
  readonly clock: () => number;
  readonly monotonic: () => number;
  readonly timeouts: LeaseTimeouts;
  /** Called with the orphans of an earlier holder of a lane: deliveries that it claimed without writing a result. */
  readonly onOrphans: (lane: Lane, orphans: readonly OrphanRow[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** How long a worker keeps its lanes, and its place among the workers, without renewal. */
export interface LeaseTimeouts {
  /**
   * Lifetime of a lane's lease without renewal; it exceeds the longest attempt. Too high: delays the deliveries of a
   * worker that died.
   */
  readonly leaseMs: number;
  /** For how long a worker counts as alive after its last heartbeat. */
  readonly aliveMs: number;
}

export const LEASE_TIMEOUTS: LeaseTimeouts = { leaseMs: 25_000, aliveMs: 5_000 };

/**
 * Milliseconds between two writes of the log's size. Too high: the log budget (rules/log-budget.ts) forgets more of a day
 * when a worker dies. Too low: costs writes without benefit.
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

  /**
   * Sends the worker's heartbeat and renews its leases. Releases claims where necessary, drains lanes above the worker's
   * share, leases free lanes up to it, writes log sizes, and deletes old ones.
   */
  async maintain(endpoints: ReadonlyMap<string, DispatchEndpoint>): Promise<void> {
    const { db, systemId, worker, timeouts } = this.#options;
    const share = shareOf(await updateHeartbeat(db, systemId, worker, timeouts.aliveMs));
    await this.#renewLeases();
    for (const lane of this.#lanes.values()) {
      applySettings(lane, endpoints.get(lane.endpointId) ?? lane.endpoint);
      if (lane.endpoint.status === "paused" || lane.mustRelease) await this.#releaseClaims(lane);
    }
    await this.#drainSurplus(share);
    await this.#leaseFree(share, endpoints);
    await this.#writingSizes.runIfDue();
    await this.#deletingSizes.runIfDue();
  }

  /** Releases the claims of ready deliveries, writes log sizes, releases all lanes, and deletes the worker. */
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
      // Attempts in flight still refer to a lost lane. It begins no more, because its lease is over.
      if (!isRenewed) this.#lanes.delete(lane.endpointId);
    }
  }

  async #leaseFree(share: number, endpoints: ReadonlyMap<string, DispatchEndpoint>): Promise<void> {
    const { db, systemId, worker, monotonic, timeouts, onError } = this.#options;
    const missing = share - this.#lanes.size;
    if (missing <= 0) return;
    const from = monotonic();
    const leased = await claimLanes(db, systemId, worker, [...this.#lanes.keys()], missing, timeouts.leaseMs);
    for (const row of leased) {
      const { endpoint_id: endpointId, token } = row;
      const endpoint = endpoints.get(endpointId);
      // The endpoint was created after the settings were loaded: its lane is leased again later.
      if (endpoint === undefined) await updateLanesReleased(db, systemId, [{ endpointId, token }]);
      // A lane that cannot be adopted is not kept. The next `maintain` leases it again, because its row still names this
      // worker. The error does not affect the other lanes.
      else await this.#adopt(createLane(token, endpoint, healthOf(row), from + timeouts.leaseMs)).catch(onError);
    }
  }

  /**
   * Takes over a lane. Writes a result for each orphan of its earlier holder first, because this holder never claims
   * orphans.
   */
  async #adopt(lane: Lane): Promise<void> {
    const { db, systemId, clock, onOrphans } = this.#options;
    let orphans: readonly OrphanRow[];
    do {
      orphans = await listOrphans(db, systemId, lane.endpointId, ORPHAN_BATCH);
      if (orphans.length > 0) await onOrphans(lane, orphans);
    } while (orphans.length === ORPHAN_BATCH);
    const today = dayOf(clock());
    for (const { bytes, answer_bytes } of await listLogSizes(db, systemId, [lane.endpointId], today)) {
      lane.logMeter.resume(today, { bytes, answerBytes: answer_bytes });
    }
    this.#lanes.set(lane.endpointId, lane);
  }

  /** Releases lanes above the worker's share to other workers, each once all its results are written. */
  async #drainSurplus(share: number): Promise<void> {
    const { db, systemId } = this.#options;
    const surplus = this.#lanes.size - share;
    for (const [index, lane] of [...this.#lanes.values()].entries()) lane.draining = index < surplus;
    const draining = [...this.#lanes.values()].filter((lane) => lane.draining);
    for (const lane of draining) await this.#releaseClaims(lane);
    const drained = draining.filter((lane) => lane.unwritten.size === 0);
    if (drained.length === 0) return;
    await this.#writeSizes(drained);
    await updateLanesReleased(db, systemId, drained);
    for (const lane of drained) this.#lanes.delete(lane.endpointId);
  }

  /** Writes the log sizes that have changed. */
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

  /** Releases the claims of ready deliveries, and, if `mustRelease` is set, all claims that are not in `unwritten`. */
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

/**
 * Returns how many lanes a worker should lease: the shares of all workers differ by one at most, and add up to all lanes.
 * The first workers by name get one lane more where the division leaves a remainder.
 */
function shareOf({ workers, before, lanes }: Membership): number {
  const divisor = Math.max(1, workers);
  return Math.floor(lanes / divisor) + (before < lanes % divisor ? 1 : 0);
}

/** Returns the endpoint health that the columns of a row store. */
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

/** Returns the columns that store an endpoint's health. */
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
