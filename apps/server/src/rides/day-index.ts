import { MAX_DAYS, type ReadDay, type ReadDays } from "./day-queries.ts";
import type { RideDay, RideGroup } from "./stretches.rules.ts";

/** What is known of a system's past rides, true as long as `pastChanges` is what the database says. */
export interface KnownDays {
  /** Milliseconds since 1970: rides that started before it are past. */
  readonly upto: number;
  readonly pastChanges: number;
  /** The youngest first. Days that are missing have no rides. */
  readonly days: readonly RideDay[];
}

/**
 * Knows of each past day how many rides of each status started on it, and when they were last changed: so that lists by status
 * and by last change are counted, and their pages found, without stepping over the rides. A day is read again only where a ride
 * of it came, went or was corrected.
 */
export interface DayIndex {
  /** Undefined where nothing is known yet: then it is read, and waited for for a moment. */
  known(systemId: string): Promise<KnownDays | undefined>;
  /** To be called where the database has said that `outdated` no longer holds. Gives what holds now, if that is known in time. */
  renew(systemId: string, outdated: KnownDays): Promise<KnownDays | undefined>;
}

export interface DayIndexOptions {
  readonly read: (systemId: string, known: ReadonlyMap<number, number>) => Promise<ReadDays>;
  readonly clock: () => number;
  /** Milliseconds for which a request waits for what it needs to know. */
  readonly maxWaitMs?: number;
}

/** What is read in it for ten million rides takes 4 s; without it counting them takes a second. */
const MAX_WAIT_MS = 3_000;
/** After it days are looked for that have become past meanwhile. */
const MAX_AGE_MS = 6 * 3_600_000;
/** Systems that are remembered. Above it the one that was learnt first is dropped: five years of days are 5 MB at most. */
const MAX_SYSTEMS = 100;
/** Groups of a day that are remembered. Where its rides were changed at more times, they are taken together. */
const MAX_GROUPS = 64;

interface System {
  readonly days: Map<number, { readonly changes: number; readonly day: RideDay }>;
  unnoted: number;
  known: KnownDays | undefined;
  at: number;
  learning: Promise<void> | undefined;
}

export function createDayIndex({ read, clock, maxWaitMs = MAX_WAIT_MS }: DayIndexOptions): DayIndex {
  const systems = new Map<string, System>();

  const systemOf = (systemId: string): System => {
    const present = systems.get(systemId);
    if (present !== undefined) return present;
    const [oldest] = systems.keys();
    if (oldest !== undefined && systems.size >= MAX_SYSTEMS) systems.delete(oldest);
    const system: System = { days: new Map(), unnoted: 0, known: undefined, at: 0, learning: undefined };
    systems.set(systemId, system);
    return system;
  };
  /** One at a time. Without what it gives lists are dearer, not wrong: the request itself meets the same error and reports it. */
  const learn = (systemId: string, system: System): Promise<void> => {
    system.learning ??= learnDays(system, (known) => read(systemId, known))
      .then(() => void (system.at = clock()))
      .catch(() => undefined)
      .finally(() => (system.learning = undefined));
    return system.learning;
  };
  return {
    async known(systemId) {
      const system = systemOf(systemId);
      if (system.known === undefined) await within(maxWaitMs, learn(systemId, system));
      else if (Math.abs(clock() - system.at) > MAX_AGE_MS) await within(0, learn(systemId, system));
      return system.known;
    },
    async renew(systemId, outdated) {
      const system = systemOf(systemId);
      if (system.known === outdated) await within(maxWaitMs, learn(systemId, system));
      return system.known === outdated ? undefined : system.known;
    },
  };
}

/** Reads days until none has changed. */
async function learnDays(
  system: System,
  read: (known: ReadonlyMap<number, number>) => Promise<ReadDays>,
): Promise<void> {
  // A day with a ride under way is looked at again each time: that the ride ends is no change of the past.
  for (const [from, { day }] of system.days) if (day.groups === undefined) system.days.delete(from);
  for (;;) {
    const found = await read(new Map([...system.days].map(([from, { changes }]) => [from, changes])));
    if (found.unnoted !== system.unnoted && system.days.size > 0) {
      system.days.clear();
      continue;
    }
    system.unnoted = found.unnoted;
    for (const each of found.days) system.days.set(each.from, { changes: each.changes, day: dayOf(each) });
    if (found.changed > MAX_DAYS) continue;
    const { upto, pastChanges } = found;
    const days = [...system.days.values()].map(({ day }) => day).sort((a, b) => b.from - a.from);
    system.known = { upto, pastChanges, days };
    return;
  }
}

function dayOf({ from, groups }: ReadDay): RideDay {
  if (groups.some(({ status }) => status === "started")) return { from, groups: undefined };
  return { from, groups: groups.length > MAX_GROUPS ? together(groups) : groups };
}

/** One group for each status. */
function together(groups: readonly RideGroup[]): RideGroup[] {
  const byStatus = new Map<string, RideGroup>();
  for (const group of groups) {
    const { first, last, n } = byStatus.get(group.status) ?? { ...group, n: 0 };
    byStatus.set(group.status, {
      status: group.status,
      first: Math.min(first, group.first),
      last: Math.max(last, group.last),
      n: n + group.n,
    });
  }
  return [...byStatus.values()];
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
