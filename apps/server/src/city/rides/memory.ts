import type { Database } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { createDayIndex, type DayIndex } from "./day-index.ts";
import { countRidesByHour, type Depth, listChangedDays, type RideHours } from "./queries.ts";

/** Rides that started in a part of the past, within 30 days, and pass a filter. */
export interface PastPart {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly n: number;
}

/** How many rides that started before an instant pass a filter. */
export interface PastCount {
  /** The instant, milliseconds since 1970: every ride that started before it has ended. */
  readonly upto: number;
  /** Whether that is a week ago at most, so that counting the rides since takes next to no time. */
  readonly isRecent: boolean;
  /** The youngest first. Parts that are missing have none. */
  readonly parts: readonly PastPart[];
  /** How often past rides had come or gone when this was so. */
  readonly pastChanges: number;
}

/**
 * Remembers how many past rides pass the filters that are asked for, so that only those of the last days are counted for each
 * page. A ride that has ended is at most corrected, and the statement that uses a number checks that no past ride came, went or
 * was corrected.
 */
export interface PastCounts {
  get(systemId: string, filter: string): PastCount | undefined;
  keep(systemId: string, filter: string, count: PastCount): void;
  /** To be called when a statement has shown that a number no longer holds. */
  forget(systemId: string, filter: string): void;
}

/** Filters that are remembered: each station and some thousand bikes, some 200 bytes each, and 100 for a year. Above it the oldest are dropped. */
const MAX_FILTERS = 10_000;
/** Milliseconds after which a filter is counted anew. Too high: each page counts more days since. */
const MAX_COUNT_AGE_MS = 24 * 3_600_000;

export function createPastCounts(clock: () => number): PastCounts {
  const counts = new Map<string, { readonly count: PastCount; readonly at: number }>();
  const keyOf = (systemId: string, filter: string) => `${systemId}\n${filter}`;
  return {
    get(systemId, filter) {
      const kept = counts.get(keyOf(systemId, filter));
      return kept !== undefined && Math.abs(clock() - kept.at) < MAX_COUNT_AGE_MS ? kept.count : undefined;
    },
    keep(systemId, filter, count) {
      const key = keyOf(systemId, filter);
      // Deleted first, so that the entry becomes the newest.
      counts.delete(key);
      const oldest = counts.keys().next().value;
      if (counts.size >= MAX_FILTERS && oldest !== undefined) counts.delete(oldest);
      counts.set(key, { count, at: clock() });
    },
    forget: (systemId, filter) => void counts.delete(keyOf(systemId, filter)),
  };
}

/** A process's memory of past rides, which finds pages at any depth and of any filter without counting rides. */
export interface RideMemory {
  readonly depths: DepthIndex;
  readonly pastCounts: PastCounts;
  readonly days: DayIndex;
}

export function createRideMemory(db: Database, clock: () => number): RideMemory {
  return {
    depths: createDepthIndex({ read: (systemId) => countRidesByHour(db, systemId), clock }),
    pastCounts: createPastCounts(clock),
    days: createDayIndex({ read: (systemId, known) => listChangedDays(db, systemId, known), clock }),
  };
}

/**
 * Learns the days of every system: of a large one that takes seconds, for which the first filtered list would wait. Where it
 * fails, whoever asks for a list tries again.
 */
export async function learnRideDays(db: Database, { days }: RideMemory): Promise<void> {
  const systems = await systemsOf(db).catch(() => []);
  for (const { system_id: systemId } of systems) await days.known(systemId, true);
}

/** The state of the list at the moment that a page was read. */
interface ListState {
  readonly total: number;
  readonly pastChanges: number;
}

/**
 * Knows how many rides started before each hour that is over for some days. Counted from the oldest ride, these numbers
 * stay as they are while new rides come; where past rides come or go, every page says so, because it reads how often that
 * happened. Then PostgreSQL finds the hour by itself, at some times the cost.
 */
interface DepthIndex {
  /** Undefined when the system is not known yet, or the page lies among the rides of the last days. */
  locate(systemId: string, skip: number): Depth | undefined;
  /** To be called with what every numbered page has said: learns the list's length, and the hours where they are out of date. */
  observe(systemId: string, state: ListState): void;
}

/**
 * Milliseconds between two refreshes of a system. Too low: a list whose past changes all the time (during an import) is
 * read all the time, at about 30 ms of PostgreSQL's time for five years of hours. Too high: pages are slower for longer
 * after a change.
 */
const REFRESH_INTERVAL_MS = 2_000;
/** Milliseconds after which hours are learnt anew though nothing has changed: more of them are over. */
const MAX_AGE_MS = 6 * 3_600_000;

const HOUR_SECONDS = 3600;

interface KnownSystem {
  total: number;
  readonly hours: RideHours;
  /** Rides that started before the end of each hour. */
  readonly upto: Float64Array;
  readonly at: number;
}

function createDepthIndex(options: {
  readonly read: (systemId: string) => Promise<RideHours>;
  readonly clock: () => number;
}): DepthIndex {
  const { read, clock } = options;
  const systems = new Map<string, KnownSystem>();
  const refreshedAt = new Map<string, number>();

  function refresh(systemId: string, total: number): void {
    const now = clock();
    const last = refreshedAt.get(systemId);
    // A clock that was set back must not stop the refreshes.
    if (last !== undefined && now >= last && now - last < REFRESH_INTERVAL_MS) return;
    refreshedAt.set(systemId, now);
    read(systemId).then(
      (hours) => systems.set(systemId, { total, hours, upto: runningSums(hours.n), at: now }),
      // Without it pages are dearer, not wrong; the request itself meets the same error and reports it.
      () => systems.delete(systemId),
    );
  }
  return {
    locate(systemId, skip) {
      const known = systems.get(systemId);
      if (known === undefined) return undefined;
      const older = known.total - 1 - skip;
      const index = older < 0 ? -1 : firstAbove(known.upto, older);
      const [startsAt, rides] = [known.hours.startsAt[index], known.upto[index]];
      if (startsAt === undefined || rides === undefined) return undefined;
      return { before: startsAt + HOUR_SECONDS, rides, skip: rides - 1 - older, pastChanges: known.hours.pastChanges };
    },
    observe(systemId, { total, pastChanges }) {
      const known = systems.get(systemId);
      if (known !== undefined) known.total = total;
      const age = known === undefined ? Infinity : Math.abs(clock() - known.at);
      if (known?.hours.pastChanges !== pastChanges || age > MAX_AGE_MS) refresh(systemId, total);
    },
  };
}

function runningSums(numbers: readonly number[]): Float64Array {
  let sum = 0;
  return Float64Array.from(numbers, (n) => (sum += n));
}

/** Index of the first of the rising values that is greater than `bound`; their number when none is. */
function firstAbove(values: Float64Array, bound: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] ?? 0) > bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
