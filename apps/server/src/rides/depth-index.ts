import type { RideHours } from "./queries.ts";

/** Where a page deep in the list begins. */
interface Depth {
  /** Rides before this instant (seconds since 1970), … */
  readonly before: number;
  /** … less so many of them. */
  readonly skip: number;
  /** How often the list had changed when this was so. */
  readonly version: number;
}

/**
 * Knows in which hour the ride at any depth of the list started, as of one state of the list. The page's statement
 * tells whether the list is still in that state; where it is not, PostgreSQL finds the hour by itself, at some
 * times the cost.
 */
export interface DepthIndex {
  /** Undefined when the system is not known yet, or is shorter. */
  locate(systemId: string, skip: number): Depth | undefined;
  /** To be called when a page showed that the list had changed, or the system is not known: learns its present state. */
  refresh(systemId: string): void;
}

/**
 * Milliseconds between two refreshes of a system. Shorter and a list that changes all the time is learnt anew all the
 * time, about 30 ms of PostgreSQL each for five years of hours; longer and pages stay dearer after a change.
 */
const REFRESH_INTERVAL_MS = 2_000;

const HOUR = 3600;

export function createDepthIndex(options: {
  readonly read: (systemId: string) => Promise<RideHours>;
  readonly clock: () => number;
}): DepthIndex {
  const systems = new Map<string, { readonly hours: RideHours; readonly upto: Float64Array }>();
  const refreshedAt = new Map<string, number>();
  return {
    locate(systemId, skip) {
      const known = systems.get(systemId);
      if (known === undefined) return undefined;
      const index = firstAbove(known.upto, skip);
      const startsAt = known.hours.startsAt[index];
      if (startsAt === undefined) return undefined;
      return { before: startsAt + HOUR, skip: skip - (known.upto[index - 1] ?? 0), version: known.hours.version };
    },
    refresh(systemId) {
      const now = options.clock();
      const last = refreshedAt.get(systemId);
      // A clock that was set back must not stop the refreshes.
      if (last !== undefined && now >= last && now - last < REFRESH_INTERVAL_MS) return;
      refreshedAt.set(systemId, now);
      options.read(systemId).then(
        (hours) => systems.set(systemId, { hours, upto: runningSums(hours.n) }),
        // Without it pages are dearer, not wrong; the request itself meets the same error and reports it.
        () => systems.delete(systemId),
      );
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
