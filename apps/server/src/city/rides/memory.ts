import { within } from "../../storage/background/within.ts";
import type { Database } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { countRidesByHour, type Depth, listChangedDays, MAX_DAYS, type ReadDays, type RideHours } from "./queries.ts";
import { DAY_MS, type PastDays, type RideDay, rideDay } from "./ride-day.rules.ts";

/*
 * What a process remembers of past rides, so that numbered pages of lists of rides need not count all rides:
 * - `DayIndex`: numbers by day and hour, for lists filtered by start, status or last change;
 * - `PastCounts`: the number of rides for each requested filter by bike or station;
 * - `DepthIndex`: the number of rides before each hour, for the unfiltered list.
 * The database counts changes of rides (`lateChanges`, `pastChanges` in `asked-rides.ts`). Numbers are valid as long as
 * these counts stay.
 */

/** The days in memory of a system's past rides; valid while `lateChanges` equals the database's value. */
export interface KnownDays extends PastDays {
  readonly lateChanges: number;
  /** The database's `pastChanges` when the days were read. */
  readonly pastChanges: number;
}

/**
 * Remembers for each past hour how many rides of each status started in it, and when they were last changed. So lists that
 * are filtered by status or last change are counted, and their pages found, without reading the rides. A day is read again
 * when one of its rides was added, deleted or corrected, and in a refresh (`MAX_DAY_AGE_MS`) when one was under way.
 */
export interface DayIndex {
  /**
   * Returns the remembered days; undefined when nothing is known yet.
   * @param isPatient whether to wait longer for all past days, because the request would be expensive without them
   */
  known(systemId: string, isPatient: boolean): Promise<KnownDays | undefined>;
  /** Returns the present numbers if they are known in time. Call it when the database reports that `outdated` is invalid. */
  renew(systemId: string, outdated: KnownDays): Promise<KnownDays | undefined>;
}

/** The dependencies of a day index. */
export interface DayIndexOptions {
  /** Reads the days that have changed. @param known the number of changes of each known day, by the beginning of the day */
  readonly read: (systemId: string, known: ReadonlyMap<number, number>) => Promise<ReadDays>;
  readonly clock: () => number;
  /** Milliseconds for which a request waits for the numbers at most. */
  readonly maxWaitMs?: number;
}

/**
 * Maximum time for which a request waits that is patient, or whose numbers are outdated. Ten million rides are read within
 * it. A waiting request holds no connection, and afterwards uses the part that was read: a request after a start, or after a
 * large import, is late rather than rejected.
 */
const MAX_WAIT_MS = 15_000;
const IMPATIENT_WAIT_MS = 300;
/**
 * Age after which the days are refreshed: hours that have become past are added, and days are read again that had rides
 * under way, or whose changes a process of the previous release may not have counted.
 */
const MAX_DAY_AGE_MS = 10 * 60_000;
/** Days whose changes the previous release does not count: it counts rides from two days on, rounded up to whole days. */
const UNCOUNTED_MS = 3 * DAY_MS;
/** Maximum number of remembered systems. Above it, and above `MAX_NUMBERS`, the system that was read first is dropped. */
const MAX_SYSTEMS = 100;
/** Maximum count of remembered numbers of all systems, 8 bytes each. Ten million rides in five years take 800,000. */
const MAX_NUMBERS = 8_000_000;

/** What a day index remembers of a system. */
interface System {
  /** By the beginning of the day, milliseconds since 1970. */
  readonly days: Map<number, { readonly changes: number; readonly day: RideDay }>;
  /** Changes of past rides that the last read found not counted by day (`ReadDays.unnoted`). */
  unnoted: number;
  known: KnownDays | undefined;
  /** When the days were last read, milliseconds since 1970. */
  at: number;
  /** The read that is under way. */
  learning: Promise<void> | undefined;
}

/** Creates the day index of a process. */
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
  /**
   * Reads the days of a system, one read at a time. A failure makes lists slower, not wrong: the request itself meets the
   * same error and reports it.
   */
  const learn = (systemId: string, system: System, isRefresh = false): Promise<void> => {
    system.learning ??= learnDays(system, (known) => read(systemId, known), isRefresh)
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
      if (system.known === undefined || system.known.knownFrom > -Infinity)
        await within(waitMs, learn(systemId, system));
      // Begins to refresh the days, and does not wait for them.
      else if (Math.abs(clock() - system.at) > MAX_DAY_AGE_MS) await within(0, learn(systemId, system, true));
      return system.known;
    },
    async renew(systemId, outdated) {
      const system = systemOf(systemId);
      if (system.known === outdated) await within(maxWaitMs, learn(systemId, system));
      return system.known === outdated ? undefined : system.known;
    },
  };
}

/** Returns how many numbers a system's days take in memory. */
function numbersOf({ days }: System): number {
  return days.values().reduce((sum, { day }) => sum + day.groups.length, 0);
}

/**
 * Reads days until none has changed. Meanwhile `known` gives the days that were read so far.
 * @param isRefresh whether to read again the days with rides under way, whose end does not count as a change of the past,
 *   and the days whose changes may not have been counted
 */
async function learnDays(
  system: System,
  read: (known: ReadonlyMap<number, number>) => Promise<ReadDays>,
  isRefresh: boolean,
): Promise<void> {
  /** Forgets days, so that they are read again. @returns whether there were any */
  const forget = (isForgotten: (day: RideDay) => boolean) => {
    const { size } = system.days;
    for (const [from, { day }] of system.days) if (isForgotten(day)) system.days.delete(from);
    return system.days.size < size;
  };
  const uncountedFrom = (system.known?.upto ?? 0) - UNCOUNTED_MS;
  if (isRefresh) forget(({ from, isUnderWay }) => isUnderWay || from >= uncountedFrom);
  for (;;) {
    const found = await read(new Map([...system.days].map(([from, { changes }]) => [from, changes])));
    const { upto, lateChanges, pastChanges, unnoted } = found;
    // It is not known which days the unnoted changes concern, so all days are read again.
    if (unnoted !== system.unnoted && forget(() => true)) continue;
    system.unnoted = unnoted;
    // Reads again the days of which more hours have become past meanwhile.
    if (forget(({ from, to }) => to < Math.min(from + DAY_MS, upto))) continue;
    for (const { from, changes, groups } of found.days)
      system.days.set(from, { changes, day: rideDay(from, Math.min(from + DAY_MS, upto), groups) });
    const isWhole = found.changed <= MAX_DAYS;
    // Days older than those that were read may have changed, so they are not used.
    const knownFrom = isWhole ? -Infinity : Math.min(...found.days.map(({ from }) => from));
    const days = [...system.days.values()].flatMap(({ day }) => (day.from >= knownFrom ? [day] : []));
    system.known = { upto, knownFrom, lateChanges, pastChanges, days: days.sort((a, b) => b.from - a.from) };
    if (isWhole) return;
  }
}

/** The number of rides that pass a filter and started in one part of the past: 30 days, or fewer before `upto`. */
export interface PastPart {
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly n: number;
}

/** How many rides that started before an instant pass a filter. */
export interface PastCount {
  /** The instant, in milliseconds since 1970. All rides that started earlier have ended. */
  readonly upto: number;
  /** Whether `upto` is a week ago at most, so that counting the rides since then is cheap. */
  readonly isRecent: boolean;
  /** The youngest first. Missing parts have no rides. */
  readonly parts: readonly PastPart[];
  /** The database's `pastChanges` when the rides were counted. */
  readonly pastChanges: number;
}

/**
 * Remembers how many past rides pass the requested filters, so that only the rides of the last days are counted for each
 * page. The statement that uses a number checks that no past ride was added, deleted or corrected since.
 */
export interface PastCounts {
  get(systemId: string, filter: string): PastCount | undefined;
  keep(systemId: string, filter: string, count: PastCount): void;
  /** Call it when a statement has shown that a number is no longer valid. */
  forget(systemId: string, filter: string): void;
}

/**
 * Maximum number of remembered filters: enough for each station and some thousand bikes. Each takes about 200 bytes, and 100
 * more for each year. Above it the oldest are dropped.
 */
const MAX_FILTERS = 10_000;
/** Milliseconds after which a filter is counted again. Too high: each page counts the rides of more days. */
const MAX_COUNT_AGE_MS = 24 * 3_600_000;

/** Creates the memory of a process for counts by filter. */
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

/** A process's memory of past rides, which finds pages at any depth and of any filter without counting all rides. */
export interface RideMemory {
  readonly depths: DepthIndex;
  readonly pastCounts: PastCounts;
  readonly days: DayIndex;
}

/** Creates the memory of a process. */
export function createRideMemory(db: Database, clock: () => number): RideMemory {
  return {
    depths: createDepthIndex({ read: (systemId) => countRidesByHour(db, systemId), clock }),
    pastCounts: createPastCounts(clock),
    days: createDayIndex({ read: (systemId, known) => listChangedDays(db, systemId, known), clock }),
  };
}

/**
 * Reads the days of each of the operator's systems ahead of requests: for a large system that takes seconds, for which its
 * first filtered list would wait. If it fails, the next request for a list tries again.
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
 * Remembers how many rides started until the end of each hour that ended some days ago. These numbers count from the oldest
 * ride, so new rides do not change them. When past rides are added or deleted, every page notices, because it reads the
 * number of such changes. PostgreSQL then finds the hour itself, at several times the cost.
 */
interface DepthIndex {
  /** Returns where a page begins; undefined when the system is not known yet, or the page has rides of the last days. */
  locate(systemId: string, skip: number): Depth | undefined;
  /** Call it with the state that each numbered page has read. Keeps the list's length, and refreshes outdated hours. */
  observe(systemId: string, state: ListState): void;
}

/**
 * Milliseconds between two refreshes of a system. Too low: a list whose past changes all the time (during an import) is
 * read all the time, at about 30 ms of PostgreSQL's time for five years of hours. Too high: pages are slower for longer
 * after a change.
 */
const REFRESH_INTERVAL_MS = 2_000;
/** Milliseconds after which the hours are read again although nothing has changed, because more hours are over. */
const MAX_AGE_MS = 6 * 3_600_000;

const HOUR_SECONDS = 3600;

/** What a depth index remembers of a system. */
interface KnownSystem {
  /** The length of the list when a page was last read. */
  total: number;
  readonly hours: RideHours;
  /** Rides that started before the end of each hour. */
  readonly ridesUntil: Float64Array;
  readonly at: number;
}

/** Creates the depth index of a process. */
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
      (hours) => systems.set(systemId, { total, hours, ridesUntil: runningSums(hours.n), at: now }),
      // Without these numbers pages cost more, but are right. The request itself meets the same error and reports it.
      () => systems.delete(systemId),
    );
  }
  return {
    locate(systemId, skip) {
      const known = systems.get(systemId);
      if (known === undefined) return undefined;
      // The number of rides that are older than the first of the page.
      const older = known.total - 1 - skip;
      const index = older < 0 ? -1 : firstAbove(known.ridesUntil, older);
      const [startsAt, rides] = [known.hours.startsAt[index], known.ridesUntil[index]];
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

/** Returns the sum of the numbers up to each of them. */
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
