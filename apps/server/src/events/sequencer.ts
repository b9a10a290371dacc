import { systemsAtWork } from "../city/systems/service.ts";
import { Coalescer } from "../storage/background/coalescer.ts";
import { startPeriodic } from "../storage/background/periodic.ts";
import type { WorkWatch } from "../storage/background/work-watch.ts";
import type { Database } from "../storage/db/database.ts";
import { dayOf, eventsTable } from "../storage/partitions/partition.rules.ts";
import { createPartitions } from "../storage/partitions/service.ts";
import { isOfUnits, sweepUnits, type Swept, type UnitWork } from "../storage/set-aside/units.ts";
import { findWhetherEventsWait, insertEventsFromOutbox, listWaitingEvents, lockSequence } from "./queries.ts";

/*
 * Commands write events to the outbox (`event_outbox`). The sequencer gives committed events consecutive numbers, and
 * moves them to the events list, so that readers who follow the list miss none. If a batch fails, the events that make it
 * fail are found and retried later, while the others are numbered (`sweepUnits`).
 */

/** Gives committed events their position in their system's list. Any number of processes may run a sequencer. */
export interface Sequencer {
  /** Numbers new events soon. To be called with each notification on the channel `event_outbox`. */
  wake(systemId: string): void;
  /**
   * Numbers all events that were committed before the call, except those whose numbering failed and whose retry is not due.
   * @returns how many this call has numbered
   */
  runOnce(systemId: string): Promise<number>;
  /** Begins no more runs; resolves when the current ones have ended. */
  close(): Promise<void>;
}

/** The dependencies of a sequencer. */
export interface SequencerOptions {
  readonly db: Database;
  readonly clock: () => number;
  /**
   * Called when a run fails. The next run numbers the remaining events.
   * @param systemId undefined: the poll for waiting events failed
   */
  readonly onError: (error: unknown, systemId?: string) => void;
  /**
   * The interval at which the systems that background work is for (`systemsAtWork`) are polled for events whose
   * notification was missed. Too high: delays those events. 0: never.
   */
  readonly pollIntervalMs?: number;
  /** Records whether the runs succeed, and how long they take. */
  readonly watch?: WorkWatch | undefined;
}

/** Events numbered in one transaction. Too low: costs more commits. Too high: holds the lock for too long. */
const BATCH = 1000;
/**
 * Milliseconds between two runs for a system. Too low: under load its commits compete with those of commands for the disk.
 * Too high: an event is listed later than the allowed 100 ms.
 */
const PAUSE_MS = 50;
/**
 * Systems whose events are numbered at the same time. Too low: a busy system delays the others. Too high: fewer database
 * connections are left for requests.
 */
const CONCURRENCY = 2;
const POLL_INTERVAL_MS = 1000;

/** Starts to number the events of every system. */
export function createSequencer({
  db,
  clock,
  onError,
  pollIntervalMs = POLL_INTERVAL_MS,
  watch,
}: SequencerOptions): Sequencer {
  const runOnce = createMover({ db, clock, onError });
  // Runs once at a time for each system. Requests during a run lead to one more run.
  const numbering = new Coalescer({
    work: async (systemId) => {
      await (watch === undefined ? runOnce(systemId) : watch.run((gotOn) => runOnce(systemId, gotOn)));
      return PAUSE_MS;
    },
    onError,
    concurrency: CONCURRENCY,
  });
  const poll = async () => {
    for (const { systemId } of await systemsAtWork(db, clock())) numbering.request(systemId);
  };
  watch?.start(pollIntervalMs);
  const polling = pollIntervalMs === 0 ? undefined : startPeriodic({ intervalMs: pollIntervalMs, work: poll, onError });
  return {
    wake: (systemId) => numbering.request(systemId),
    runOnce: (systemId) => runOnce(systemId),
    async close() {
      watch?.stop();
      await polling?.close();
      await numbering.close();
    },
  };
}

/**
 * Returns the function `runOnce` of a sequencer, which moves the events of a system to the list and returns their number. It
 * calls `gotOn` after each batch.
 */
function createMover({
  db,
  clock,
  onError,
}: Omit<SequencerOptions, "watch">): (systemId: string, gotOn?: () => void) => Promise<number> {
  // The day for which the last batch found or created the partitions of the events table.
  let preparedDay: string | undefined;

  async function runOnce(systemId: string, gotOn?: () => void): Promise<number> {
    let moved = 0;
    // Ends after a batch that is not full, because that contains every event that was committed when the batch began.
    for (let isMore = true; isMore;) {
      const batch = await moveNext(systemId);
      moved += batch.swept;
      gotOn?.();
      isMore = batch.isMore;
    }
    return moved;
  }

  /**
   * Moves the next batch. If events whose numbering failed before are due for a retry, `sweepUnits` moves the batch, and then
   * each of these events by itself.
   */
  async function moveNext(systemId: string): Promise<Swept> {
    const { waiting, has_due: hasDue } = await findWhetherEventsWait(db, systemId);
    if (hasDue) return sweepUnits(unitWork, systemId, BATCH);
    if (!waiting) return { swept: 0, isMore: false };
    try {
      const swept = await moveBatch(systemId, BATCH);
      return { swept, isMore: swept === BATCH };
    } catch (error) {
      // Not caused by an event, but by the database or the network, which would make each event fail.
      if (!isOfUnits(error)) throw error;
      return sweepUnits(unitWork, systemId, BATCH);
    }
  }

  // What `sweepUnits` needs; its units are events. `canCrash` is false: the database numbers the events by itself, so
  // no event can end this process. `apart`: the ids of events that failed before and are not to be listed.
  const unitWork: UnitWork = {
    db,
    onError,
    work: "number-event",
    canCrash: false,
    list: (systemId, limit, apart) => listWaitingEvents(db, systemId, limit, apart),
    run: (systemId, ids) => moveBatch(systemId, ids),
  };

  /** @param which how many events at most, or the ids of the events */
  async function moveBatch(systemId: string, which: number | readonly string[]): Promise<number> {
    const today = dayOf(clock());
    if (preparedDay !== today) await createPartitions(db, eventsTable, today);
    // Unset while the batch runs: if it fails, perhaps because a partition is missing, the next batch creates partitions.
    preparedDay = undefined;
    const moved = await db.transaction(async (tx) => {
      const last = await lockSequence(tx, systemId);
      return (await insertEventsFromOutbox(tx, systemId, last, today, which)) - last;
    });
    preparedDay = today;
    return moved;
  }

  return runOnce;
}
