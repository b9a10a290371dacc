import { Coalescer } from "../../storage/background/coalescer.ts";
import { IntervalTask } from "../../storage/background/periodic.ts";
import type { WorkWatch } from "../../storage/background/work-watch.ts";
import type { Database } from "../../storage/db/database.ts";
import type { DispatchEndpoint } from "../endpoints/dispatch-endpoints.ts";
import { applyHourlyLimit } from "../queue/hourly-limit-queries.ts";
import {
  claimDeliveries,
  type ClaimRequest,
  claimSuspects,
  insertResults,
  listSuspectLanes,
  type OrphanRow,
  type ResultRow,
  type SuspectLane,
  updateQueuedToHeld,
} from "../queue/lane-queries.ts";
import { MAX_SUSPECTS_TOGETHER, SET_ASIDE } from "../rules/after-attempt.ts";
import { AttemptRunner, type AttemptRunnerOptions } from "./attempt-runner.ts";
import {
  addClaimed,
  advanceCursor,
  canClaim,
  canStartAttempt,
  claimRequestFor,
  freeSlotsOf,
  type Lane,
  LaneKeeper,
  type LeaseTimeouts,
  type QueueName,
} from "./lanes.ts";
import {
  type CompletedAttempt,
  type RecordFailures,
  ResultWriter,
  unknownResultOf,
  writeResults,
} from "./result-writer.ts";

/*
 * The loop that sends a system's deliveries: it leases lanes (each has the deliveries of one endpoint), claims due
 * deliveries, starts attempts, writes results. To claim a delivery is to mark its row in the queue, so that only this
 * worker sends it.
 */

export interface SystemDispatcherOptions extends Omit<AttemptRunnerOptions, "onCompleted"> {
  readonly db: Database;
  readonly systemId: string;
  /** The id of this process among the workers. */
  readonly worker: string;
  readonly timeouts: LeaseTimeouts;
  /** For deliveries that may have ended a process (suspects). Shared by all systems of the process. */
  readonly suspects: SuspectSlots;
  /** Loads every endpoint of the system, with its secrets. */
  readonly loadEndpoints: () => Promise<readonly DispatchEndpoint[]>;
  /** Queues the next deliveries of replays, which send deliveries again on request. @returns how many */
  readonly queueReplays: () => Promise<number>;
  readonly recordFailures: RecordFailures;
  /** Watches the dispatch cycles of all systems of the process for failures and hangs. */
  readonly watch?: WorkWatch | undefined;
}

/**
 * Milliseconds between two passes over everything: the longest delay of retries, and of deliveries without a notification.
 */
export const POLL_INTERVAL_MS = 1_000;
/** Milliseconds between two readings of the endpoints' settings, in case a notification was lost. */
const SETTINGS_INTERVAL_MS = 15_000;
/** Milliseconds between two claims that find little. Too low: every single ride has its own claim. */
const CLAIM_INTERVAL_MS = 4;
/** A claim that finds so many deliveries is followed by the next claim at once. */
const FULL_CLAIM = 32;
/** How many deliveries of a paused endpoint one statement holds, and how many such statements one pass runs. */
const HOLD_BATCH = 1_000;
const MAX_HOLD_BATCHES = 20;
/** Milliseconds for which closing waits until the last results are written. */
const FINAL_WRITE_TIMEOUT_MS = 5_000;

/** A lane that deliveries are claimed for, and its position in the queue from which they are claimed. */
interface AskingLane {
  readonly lane: Lane;
  readonly cursor: Lane["regular"];
  readonly request: ClaimRequest;
}

/** Sends one system's deliveries, as far as this worker leases their lanes. */
export class SystemDispatcher {
  readonly #options: SystemDispatcherOptions;
  readonly #endpoints = new Map<string, DispatchEndpoint>();
  readonly #keeper: LaneKeeper;
  readonly #runner: AttemptRunner;
  readonly #writer: ResultWriter;
  /** Claims deliveries and maintains lanes, never both at once: each needs the other's changes complete. */
  readonly #cycle: Coalescer;
  readonly #loading: IntervalTask;
  readonly #polling: IntervalTask;
  readonly #timer: NodeJS.Timeout;
  readonly #suspects: SuspectClaimer;

  constructor(options: SystemDispatcherOptions) {
    const { monotonic, onError, watch } = options;
    this.#options = options;
    this.#loading = new IntervalTask(SETTINGS_INTERVAL_MS, () => this.#loadSettings(), monotonic);
    this.#polling = new IntervalTask(POLL_INTERVAL_MS, () => this.#poll(), monotonic);
    this.#writer = new ResultWriter({
      ...options,
      onWritten: (...written) => this.#onWritten(...written),
      onSetAside: (id, error) => this.#onSetAside(id, error),
    });
    this.#runner = new AttemptRunner({
      ...options,
      onCompleted: (attempt) => {
        this.#writer.add(attempt);
        this.#cycle.request();
      },
    });
    this.#keeper = new LaneKeeper({ ...options, onOrphans: (lane, orphans) => this.#writeOrphans(lane, orphans) });
    this.#suspects = new SuspectClaimer(options, this.#keeper.lanes);
    const cycle = () => this.#runCycle();
    this.#cycle = new Coalescer({ work: () => (watch === undefined ? cycle() : watch.run(cycle)), onError });
    this.#timer = setInterval(() => this.#cycle.request(), POLL_INTERVAL_MS);
    this.#cycle.request();
  }

  /** Looks for due deliveries in all lanes. Replays wait for the next poll. */
  wake(): void {
    for (const lane of this.#keeper.lanes.values()) lane.regular.mayHaveMore = true;
    this.#cycle.request();
  }

  /** Reads the endpoints' settings again. */
  reload(): void {
    this.#loading.makeDue();
    this.#polling.makeDue();
    this.#cycle.request();
  }

  /** Starts no more attempts, waits for those in flight, writes their results, and releases all lanes. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#cycle.close();
    await this.#runner.close();
    await this.#writer.close(FINAL_WRITE_TIMEOUT_MS);
    await this.#keeper.close();
  }

  /** @returns the milliseconds to pause afterwards */
  async #runCycle(): Promise<number> {
    const hasPolled = await this.#polling.runIfDue();
    // After each poll, claims also for lanes that can take only few deliveries, so that these wait for at most one poll
    // interval, and searches for new suspects.
    const claimed = (await this.#claim("regular", hasPolled)) + (await this.#claim("replay", hasPolled));
    await this.#suspects.claim(hasPolled);
    this.#runner.startReady(this.#keeper.lanes);
    return claimed >= FULL_CLAIM ? 0 : CLAIM_INTERVAL_MS;
  }

  /** Does the periodic work of a cycle: reads settings, maintains lanes, holds deliveries and queues replays. */
  async #poll(): Promise<void> {
    const { queueReplays, onError } = this.#options;
    const { lanes } = this.#keeper;
    await this.#loading.runIfDue();
    await this.#keeper.maintain(this.#endpoints);
    // A failure to hold deliveries or to queue replays must not delay due deliveries.
    for (const lane of lanes.values()) {
      if (lane.endpoint.status === "paused") await this.#hold(lane.endpointId).catch(onError);
    }
    await queueReplays().catch(onError);
    for (const lane of lanes.values()) lane.regular.mayHaveMore = lane.replay.mayHaveMore = true;
  }

  async #loadSettings(): Promise<void> {
    // Read before the settings: a change of status that is written during the reading may be missing in them.
    const before = [...this.#keeper.lanes.values()].map(({ statusChanges }) => ({
      statusChanges,
      written: statusChanges.written,
    }));
    const loaded = await this.#options.loadEndpoints();
    this.#endpoints.clear();
    for (const endpoint of loaded) this.#endpoints.set(endpoint.id, endpoint);
    for (const { statusChanges, written } of before) statusChanges.loaded = written;
  }

  /** Takes a paused endpoint's deliveries out of the queue, and holds them. */
  async #hold(endpointId: string): Promise<void> {
    const { db, systemId, clock } = this.#options;
    for (let batch = 0; batch < MAX_HOLD_BATCHES; batch++) {
      if ((await updateQueuedToHeld(db, systemId, endpointId, new Date(clock()), HOLD_BATCH)) < HOLD_BATCH) return;
    }
  }

  /** Claims for all lanes in one statement. @returns how many deliveries */
  async #claim(queue: QueueName, acceptSmall: boolean): Promise<number> {
    const { db, systemId, monotonic, clock, observe } = this.#options;
    const from = monotonic();
    const asking = [...this.#keeper.lanes.values()].flatMap((lane): AskingLane[] => {
      const request = claimRequestFor(lane, queue, from, acceptSmall);
      return request === undefined ? [] : [{ lane, cursor: lane[queue], request }];
    });
    if (asking.length === 0) return 0;
    const now = clock();
    // Cleared first: a notification during the claim may concern a delivery that the claim does not see.
    for (const { cursor } of asking) cursor.mayHaveMore = false;
    try {
      const requests = asking.map(({ request }) => request);
      if (queue === "regular") await this.#applyHourlyLimits(asking, now);
      const rows = await claimDeliveries(db, systemId, requests, queue === "replay", new Date(now));
      const span = { from, to: monotonic() };
      const byEndpoint = Map.groupBy(rows, (row) => row.endpoint_id);
      for (const { lane, cursor, request } of asking) {
        const mine = byEndpoint.get(lane.endpointId) ?? [];
        advanceCursor(cursor, request, mine, now, span);
        addClaimed(lane, mine);
      }
      if (rows.length > 0) observe.claimed(rows.length);
      if (asking.some(({ cursor }) => cursor.mayHaveMore)) this.#cycle.request();
      return rows.length;
    } catch (error) {
      // Whether the claim was committed is not known.
      for (const { lane, cursor } of asking) {
        lane.mustRelease = true;
        cursor.mayHaveMore = true;
      }
      throw error;
    }
  }

  /**
   * Applies the hourly limits of the endpoints whose lanes ask. Precedes their claim, which leaves out deliveries that the
   * limit has not let through yet.
   */
  async #applyHourlyLimits(asking: readonly AskingLane[], now: number): Promise<void> {
    const limits = asking.flatMap(({ lane: { endpointId, token, endpoint } }) =>
      endpoint.maxPerHour === null ? [] : [{ endpointId, token, maxPerHour: endpoint.maxPerHour }],
    );
    if (limits.length === 0) return;
    const { db, systemId } = this.#options;
    const isMoreToCount = await applyHourlyLimit(db, systemId, limits, new Date(now));
    if (!isMoreToCount) return;
    // More deliveries are due than one statement counts: another claim must follow.
    for (const { cursor, request } of asking) if (request.hasHourlyLimit) cursor.mayHaveMore = true;
  }

  #onWritten(attempts: readonly CompletedAttempt[], stale: number, overtaken: ReadonlySet<CompletedAttempt>): void {
    // A change that did not happen must be neither counted nor logged.
    const happened = attempts.map((attempt) =>
      overtaken.has(attempt) ? { ...attempt, statusChange: null, warning: null } : attempt,
    );
    this.#options.observe.resultsWritten(happened, stale);
    // Lanes may have waited for these results to be written.
    this.#runner.startReady(this.#keeper.lanes);
    if (this.#suspects.isWaiting) this.#cycle.request();
    if (attempts.some(({ statusChange }) => statusChange !== null)) this.reload();
  }

  #onSetAside(deliveryId: string, error: unknown): void {
    this.#options.observe.setAside(this.#options.systemId, [deliveryId]);
    this.#options.onError(error);
  }

  /** Writes the result `unknown` of deliveries that an earlier holder of a lane claimed. */
  async #writeOrphans(lane: Lane, orphans: readonly OrphanRow[]): Promise<void> {
    const { db, systemId, clock, observe } = this.#options;
    const now = clock();
    const results = orphans.map((orphan) => unknownResultOf(orphan, lane.endpoint.url, now));
    const write = (some: readonly ResultRow[]) =>
      db.transaction((tx) => insertResults(tx, systemId, new Date(now), some));
    const onSetAside = (id: string, error: unknown) => this.#onSetAside(id, error);
    await writeResults({ ...this.#options, onSetAside }, results, write);
    observe.orphansWritten(orphans.length);
    const setAside = results.filter(({ state, failure }) => state === "failed" && failure === SET_ASIDE);
    if (setAside.length > 0)
      observe.setAside(
        systemId,
        setAside.map((each) => each.delivery_id),
      );
  }
}

interface SuspectClaimerOptions {
  readonly db: Database;
  readonly systemId: string;
  readonly clock: () => number;
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number;
  /** Shared by all systems of the process. */
  readonly suspects: SuspectSlots;
}

/**
 * Claims the suspects of a system: deliveries that were being sent when a process ended, so that one of them may have ended
 * it. Suspects in one ended process are tried first, several at a time. Suspects in two are tried alone, so that no other
 * suspect counts a further crash if the process ends again. Deliveries that are no suspects are sent meanwhile.
 */
class SuspectClaimer {
  readonly #options: SuspectClaimerOptions;
  readonly #lanes: ReadonlyMap<string, Lane>;
  /** The lanes in which the last search found suspects, without those that have no further ones. */
  #waiting: readonly SuspectLane[] = [];

  constructor(options: SuspectClaimerOptions, lanes: ReadonlyMap<string, Lane>) {
    this.#options = options;
    this.#lanes = lanes;
  }

  /** Whether suspects that this process may try are left. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Claims suspects that may be tried now.
   * @param mayBeNew true: searches all lanes of the worker for suspects; false: uses only those lanes in which the last
   * search found some
   */
  async claim(mayBeNew: boolean): Promise<void> {
    const { db, systemId, clock, suspects } = this.#options;
    if (mayBeNew) {
      const found = await listSuspectLanes(db, systemId, new Date(clock()));
      this.#waiting = found.filter(({ endpoint_id: id }) => this.#lanes.has(id));
    }
    for (const each of this.#waiting) {
      if (!each.is_alone && suspects.free() > 0) await this.#claimFrom(each, suspects.free());
    }
    if (this.#waiting.some((each) => !each.is_alone)) return;
    for (const each of this.#waiting) if (suspects.isEmpty()) await this.#claimFrom(each, 1);
  }

  /** Claims up to `most` suspects from one lane. */
  async #claimFrom(from: SuspectLane, most: number): Promise<void> {
    const { db, systemId, clock, monotonic, suspects } = this.#options;
    const { endpoint_id: endpointId, replay, is_alone: isAlone } = from;
    const lane = this.#lanes.get(endpointId);
    if (lane === undefined || !canClaim(lane, monotonic()) || !canStartAttempt(lane, monotonic())) return;
    const limit = Math.min(most, freeSlotsOf(lane));
    if (limit < 1) return;
    const request = { endpointId, token: lane.token, limit, dueFrom: new Date(0) };
    try {
      const tried = isAlone ? "alone" : "together";
      const rows = await claimSuspects(db, systemId, [request], { tried, replay, now: new Date(clock()) });
      addClaimed(lane, rows);
      suspects.take(
        lane,
        rows.map((row) => row.delivery_id),
        isAlone,
      );
      // The lane has no further suspects; the next poll searches it again.
      if (rows.length < limit) this.#waiting = this.#waiting.filter((each) => each !== from);
    } catch (error) {
      // Whether the claim was committed is not known.
      lane.mustRelease = true;
      throw error;
    }
  }
}

/** The deliveries that a process tries although they may end the process. */
interface SuspectSlots {
  /** Returns how many more suspects may be tried together; none while one is tried alone. */
  free(): number;
  /** Tells whether no suspect is being tried, so that one may be tried alone. */
  isEmpty(): boolean;
  /** Occupies slots with claimed suspects of a lane. @param isAlone whether they are tried alone */
  take(lane: Lane, deliveryIds: readonly string[], isAlone: boolean): void;
}

/**
 * Returns the slots of a process, MAX_SUSPECTS_TOGETHER in all. A slot is free again once its delivery's result is written,
 * or its claim released: from then on the delivery cannot cause a crash.
 */
export function createSuspectSlots(): SuspectSlots {
  let tried: { readonly lane: Lane; readonly deliveryId: string; readonly isAlone: boolean }[] = [];
  const freeSlots = (): void => {
    tried = tried.filter(({ lane, deliveryId }) => lane.unwritten.has(deliveryId));
  };
  return {
    free() {
      freeSlots();
      return tried.some(({ isAlone }) => isAlone) ? 0 : MAX_SUSPECTS_TOGETHER - tried.length;
    },
    isEmpty() {
      freeSlots();
      return tried.length === 0;
    },
    take(lane, deliveryIds, isAlone) {
      for (const deliveryId of deliveryIds) tried.push({ lane, deliveryId, isAlone });
    },
  };
}
