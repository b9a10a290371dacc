import { within } from "../../storage/background/within.ts";
import { MAX_DAYS, type ReadDays } from "./queries.ts";
import { DAY_MS, type PastDays, type RideDay, rideDay } from "./ride-day.rules.ts";

/** The days in memory of a system's past rides; valid while `lateChanges` equals the database's value. */
export interface KnownDays extends PastDays {
  readonly lateChanges: number;
  /** The counter of changes to rides of days that ended at least three days ago. */
  readonly pastChanges: number;
}

/**
 * Knows of each past hour how many rides of each status started in it, and when they were last changed: so that lists by status
 * and by last change are counted, and their pages found, without stepping over the rides. A day is read again only where a ride
 * of it came, went or was corrected.
 */
export interface DayIndex {
  /**
   * Undefined where nothing is known yet.
   * @param isPatient whether the request would be dear without knowing the whole past: then it waits for that
   */
  known(systemId: string, isPatient: boolean): Promise<KnownDays | undefined>;
  /** Returns the present numbers if they are known in time. Call it when the database reports that `outdated` is invalid. */
  renew(systemId: string, outdated: KnownDays): Promise<KnownDays | undefined>;
}

export interface DayIndexOptions {
  readonly read: (systemId: string, known: ReadonlyMap<number, number>) => Promise<ReadDays>;
  readonly clock: () => number;
  /** Milliseconds for which a request waits for the numbers. */
  readonly maxWaitMs?: number;
}

/**
 * Within this time ten million rides are read. A waiting request holds no connection, and afterwards uses the part that was
 * read: a request after a start, or after a large import, is late rather than rejected.
 */
const MAX_WAIT_MS = 15_000;
const IMPATIENT_WAIT_MS = 300;
/**
 * After it hours are looked for that have become past meanwhile, and days are read again whose rides were under way, or whose
 * changes the program of the release before may not have counted.
 */
const MAX_AGE_MS = 10 * 60_000;
/** That program counts changes of rides that had started more than two days before: the days of these, and what is left of one. */
const UNCOUNTED_MS = 3 * DAY_MS;
/** Systems that are remembered. Above it, and above `MAX_NUMBERS`, the one that was learnt first is dropped. */
const MAX_SYSTEMS = 100;
/** Numbers that are remembered of all systems, 8 bytes each: of ten million rides in five years there are 800,000. */
const MAX_NUMBERS = 8_000_000;

interface System {
  readonly days: Map<number, { readonly changes: number; readonly day: RideDay }>;
  unnoted: number;
  known: KnownDays | undefined;
  at: number;
  learning: Promise<void> | undefined;
}

export function createDayIndex({ read, clock, maxWaitMs = MAX_WAIT_MS }: DayIndexOptions): DayIndex {
  const systems = new Map<string, System>();

  const dropOldest = () => {
    const [oldest] = systems.keys();
    if (oldest !== undefined) systems.delete(oldest);
  };
  const systemOf = (systemId: string): System => {
    const present = systems.get(systemId);
    if (present !== undefined) return present;
    if (systems.size >= MAX_SYSTEMS) dropOldest();
    const system: System = { days: new Map(), unnoted: 0, known: undefined, at: 0, learning: undefined };
    systems.set(systemId, system);
    return system;
  };
  /** One at a time. A failure makes lists slower, not wrong: the request itself meets the same error and reports it. */
  const learn = (systemId: string, system: System, isOld = false): Promise<void> => {
    system.learning ??= learnDays(system, (known) => read(systemId, known), isOld)
      .then(() => {
        system.at = clock();
        const numbers = () => systems.values().reduce((sum, each) => sum + numbersOf(each), 0);
        while (systems.size > 1 && numbers() > MAX_NUMBERS) dropOldest();
      })
      .catch(() => undefined)
      .finally(() => (system.learning = undefined));
    return system.learning;
  };
  return {
    async known(systemId, isPatient) {
      const system = systemOf(systemId);
      const waitMs = isPatient ? maxWaitMs : Math.min(maxWaitMs, IMPATIENT_WAIT_MS);
      if (system.known === undefined || system.known.since > -Infinity) await within(waitMs, learn(systemId, system));
      else if (Math.abs(clock() - system.at) > MAX_AGE_MS) await within(0, learn(systemId, system, true));
      return system.known;
    },
    async renew(systemId, outdated) {
      const system = systemOf(systemId);
      if (system.known === outdated) await within(maxWaitMs, learn(systemId, system));
      return system.known === outdated ? undefined : system.known;
    },
  };
}

function numbersOf({ days }: System): number {
  return days.values().reduce((sum, { day }) => sum + day.groups.length, 0);
}

/**
 * Reads days until none has changed. What is known so far is given meanwhile.
 * @param isOld whether days are read again of which a ride was under way, since that it ends is no change of the past, and those
 *   whose changes may not have been counted
 */
async function learnDays(
  system: System,
  read: (known: ReadonlyMap<number, number>) => Promise<ReadDays>,
  isOld: boolean,
): Promise<void> {
  const forget = (isForgotten: (day: RideDay) => boolean) => {
    const { size } = system.days;
    for (const [from, { day }] of system.days) if (isForgotten(day)) system.days.delete(from);
    return system.days.size < size;
  };
  const uncounted = (system.known?.upto ?? 0) - UNCOUNTED_MS;
  if (isOld) forget(({ from, isUnderWay }) => isUnderWay || from >= uncounted);
  for (;;) {
    const found = await read(new Map([...system.days].map(([from, { changes }]) => [from, changes])));
    const { upto, lateChanges, pastChanges, unnoted } = found;
    if (unnoted !== system.unnoted && forget(() => true)) continue;
    system.unnoted = unnoted;
    // Days have gone on meanwhile.
    if (forget(({ from, to }) => to < Math.min(from + DAY_MS, upto))) continue;
    for (const { from, changes, groups } of found.days)
      system.days.set(from, { changes, day: rideDay(from, Math.min(from + DAY_MS, upto), groups) });
    const isWhole = found.changed <= MAX_DAYS;
    // Days that are older than those that were read may have changed.
    const since = isWhole ? -Infinity : Math.min(...found.days.map(({ from }) => from));
    const days = [...system.days.values()].flatMap(({ day }) => (day.from >= since ? [day] : []));
    system.known = { upto, since, lateChanges, pastChanges, days: days.sort((a, b) => b.from - a.from) };
    if (isWhole) return;
  }
}
