import type { WorkCondition } from "./lasting-conditions.ts";

/** Milliseconds between two looks. Shorter asks the database more often; longer and a worker that was killed is missed later. */
const LOOK_MS = 15_000;

/** Looks at something from time to time. */
export interface PeriodicLook {
  /** Looks now, after a look that is under way. */
  look(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Looks every 15 s, one look after the other.
 * @param asking hears whether a look could be taken
 */
export function lookPeriodically(asking: WorkCondition, lookNow: () => Promise<void>): PeriodicLook {
  let looking = Promise.resolve();
  const look = () => (looking = looking.then(lookNow).then(asking.succeeded, asking.failed));
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return {
    look,
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
