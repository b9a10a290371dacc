import type { WorkCondition } from "./conditions.ts";

/** Shorter queries the database more often; longer, and a worker that was killed is reported later. */
const CHECK_INTERVAL_MS = 15_000;

export interface PeriodicCheck {
  /** Checks now, after a check that is under way. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Runs a check every 15 s, never two at a time.
 * @param condition is told whether the check could be made
 */
export function checkPeriodically(condition: WorkCondition, checkNow: () => Promise<void>): PeriodicCheck {
  let checking = Promise.resolve();
  const check = () => (checking = checking.then(checkNow).then(condition.succeeded, condition.failed));
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS);
  timer.unref();
  return {
    check,
    async close() {
      clearInterval(timer);
      await checking;
    },
  };
}
