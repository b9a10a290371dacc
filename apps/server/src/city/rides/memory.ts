import type { Database } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { createDayIndex, type DayIndex } from "./day-index.ts";
import { createPastCounts, type PastCounts } from "./past-counts.ts";
import { countRidesByHour, type Depth, listChangedDays, type RideHours } from "./queries.ts";

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
